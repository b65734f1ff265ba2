"""The log lines of every process: one JSON object a line."""

import logging
import sys
from typing import TextIO

HAS_RICH = "rich" in sys.modules
if not HAS_RICH:
    # structlog imports rich if it is installed, for an output that no service has. That is a hundred modules and 5 MiB
    # in each process.
    sys.modules["rich"] = None  # type: ignore[assignment]
import structlog  # noqa: E402

if not HAS_RICH:
    del sys.modules["rich"]


def configure_logging(level: int = logging.INFO, file: TextIO | None = None) -> None:
    """Writes lines to `file`, or to stderr, which the process manager writes to a file."""
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
        # Each line is one write, because several processes write to the same file.
        logger_factory=structlog.WriteLoggerFactory(file or sys.stderr),
        cache_logger_on_first_use=True,
    )
