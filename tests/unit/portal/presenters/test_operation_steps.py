"""The steps of an operation as rows."""

from typing import Any

import pytest

from cluster.domain.states import OperationState
from portal.presenters.operation_steps import seconds_between, step_row

RUNNING, FAILED = OperationState.RUNNING, OperationState.FAILED
TIMES = {"started_at": "2026-11-20T05:00:00+00:00", "ended_at": "2026-11-20T05:01:30+00:00"}


@pytest.mark.parametrize(
    ("step", "operation", "state", "answer"),
    [
        ({"state": "to_come"}, RUNNING, "to-come", ""),
        ({"state": "now", "detail": "3 of 8"}, RUNNING, "now", "3 of 8"),
        ({"state": "now"}, FAILED, "failed", ""),
        ({"state": "now"}, OperationState.INTERRUPTED, "failed", ""),
        ({"state": "done", **TIMES}, FAILED, "done", "1 min 30 s"),
        ({"state": "done", "detail": "kept"}, RUNNING, "done", "kept"),
    ],
)
def test_a_step_says_its_state_and_how_long_it_took(
    step: dict[str, Any], operation: OperationState, state: str, answer: str
) -> None:
    row = step_row({"code": "unpack", **step}, operation)
    assert (row["state"], row["answer"]) == (state, answer)
    assert row["word"]


def test_seconds_between_two_times() -> None:
    assert seconds_between(TIMES["started_at"], TIMES["ended_at"]) == 90
