"""The log lines of every process: one JSON object a line."""

import logging
import sys
from typing import TextIO

import structlog


def configure_logging(level: int = logging.INFO, file: TextIO | None = None) -> None:
    """Lines go to stderr, which the process manager writes to a file, or to `file`."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file or sys.stderr),
        cache_logger_on_first_use=True,
    )
