"""Of several logs the one that says why an attempt failed is quoted, and in it the deciding line."""

import pytest

from cluster.domain.jobs.failures.failure_causes import (
    FailureCause,
    LogName,
    LogTail,
    choose_failure_cause,
    is_explained_by_logs,
    order_of_logs,
)

EPOCHS = ["epoch 1 loss 0.9", "epoch 2 loss 0.7"]
CRASH = [
    "Traceback (most recent call last):",
    '  File "train.py", line 9, in <module>',
    "    main()",
    "ValueError: shapes differ",
]
CHILD = ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "train.py FAILED"]
NO_TORCH = ["python: Error while finding module specification (ModuleNotFoundError: No module named 'torch')"]
WARNED = ["UserWarning: old"]


def name(text: str) -> LogName:
    source, _, stream = text.partition(".")
    return LogName(None if source == "launcher" else int(source), stream)


def cause_of(logs: dict[str, list[str]], failed_rank: int | None) -> FailureCause | None:
    names = {name(text): lines for text, lines in logs.items()}
    tails = [LogTail(log, names[log]) for log in order_of_logs(names, failed_rank)]
    return choose_failure_cause(tails, failed_rank)


@pytest.mark.parametrize(
    ("logs", "failed_rank", "log", "error_line"),
    [
        ({"0.stdout": EPOCHS, "0.stderr": CRASH}, None, "0.stderr", "ValueError: shapes differ"),
        ({"0.stdout": [*EPOCHS, *CRASH], "0.stderr": WARNED}, None, "0.stdout", "ValueError: shapes differ"),
        ({"0.stdout": EPOCHS, "launcher.stderr": NO_TORCH}, None, "launcher.stderr", NO_TORCH[0]),
        ({"1.stderr": CRASH, "launcher.stderr": CHILD}, 1, "1.stderr", "ValueError: shapes differ"),
        ({"1.stderr": CRASH, "launcher.stderr": CHILD}, None, "1.stderr", "ValueError: shapes differ"),
        ({"0.stderr": CRASH, "1.stdout": EPOCHS}, 1, "1.stdout", ""),
        ({"0.stderr": CRASH, "launcher.stderr": CHILD}, 1, "launcher.stderr", CHILD[0]),
        ({"0.stdout": EPOCHS}, None, "0.stdout", ""),
        ({"0.stdout": ["", " "], "0.stderr": ["no data"]}, None, "0.stderr", ""),
        ({"0.stdout": EPOCHS, "0.stderr": ["ERROR: no data"]}, None, "0.stderr", "ERROR: no data"),
    ],
)
def test_the_log_that_says_most_is_quoted(
    logs: dict[str, list[str]], failed_rank: int | None, log: str, error_line: str
) -> None:
    cause = cause_of(logs, failed_rank)
    assert cause is not None
    assert (cause.log, cause.error_line) == (name(log), error_line)


def test_nothing_is_quoted_where_nothing_was_written() -> None:
    assert cause_of({}, None) is None
    assert cause_of({"0.stderr": [], "0.stdout": ["  "]}, 0) is None


@pytest.mark.parametrize("after", [0, 3, 40])
def test_the_deciding_line_is_among_the_quoted_ones_whatever_follows_it(after: int) -> None:
    cause = cause_of({"0.stderr": [*EPOCHS * 20, *CRASH, *["cleaning up"] * after]}, 0)
    assert cause is not None
    assert cause.error_line == "ValueError: shapes differ"
    assert len(cause.lines) <= 8


def test_lines_are_quoted_as_a_terminal_shows_them() -> None:
    cause = cause_of({"0.stderr": ["10 %\r20 %\r30 %\r", "\x1b[31mValueError: red\x1b[0m\x07"]}, 0)
    assert cause is not None
    assert cause.lines == ("30 %", "ValueError: red")


@pytest.mark.parametrize(
    ("code", "is_explained"),
    [
        ("exit.error", True),
        ("exit.killed", True),
        ("exit.out_of_memory", True),
        ("exit.timed_out", False),
        ("exit.stopped", False),
        ("exit.stopped_while_waiting", False),
        ("exit.finished", False),
        ("exit.not_started", False),
        ("interrupted.node_lost", False),
    ],
)
def test_logs_explain_what_a_program_did_and_not_what_was_done_to_it(code: str, is_explained: bool) -> None:
    assert is_explained_by_logs(code) is is_explained


def test_at_most_twelve_logs_are_read() -> None:
    names = [LogName(rank, stream) for rank in range(500) for stream in ("stdout", "stderr")]
    assert len(order_of_logs(names, None)) == 12
    assert order_of_logs(names, 300) == [LogName(300, "stderr"), LogName(300, "stdout")]
