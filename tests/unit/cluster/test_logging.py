"""Log lines are JSON objects of the level that is asked for."""

import json
import logging
from collections.abc import Iterator
from io import StringIO

import pytest
import structlog

from cluster.logging import configure_logging


@pytest.fixture(autouse=True)
def configuration_of_the_tests() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_a_line_is_one_json_object_with_level_and_time() -> None:
    file = StringIO()
    configure_logging(file=file)
    structlog.get_logger().info("started", node="gpu08", 이유="없음")
    line = json.loads(file.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "started", "level": "info", "node": "gpu08", "이유": "없음"}


def test_lines_below_the_level_are_left_out() -> None:
    file = StringIO()
    configure_logging(logging.WARNING, file)
    log = structlog.get_logger()
    log.info("started")
    log.warning("stopped")
    assert [json.loads(line)["event"] for line in file.getvalue().splitlines()] == ["stopped"]


def test_without_a_file_lines_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging()
    structlog.get_logger().info("started")
    assert json.loads(capsys.readouterr().err)["event"] == "started"
