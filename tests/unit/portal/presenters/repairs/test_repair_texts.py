"""Repairs in the reader's words."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster import words
from cluster.domain.repairs.definition import BilingualText
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import OperationState
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from cluster.store.users import User
from portal.presenters.repairs import repair_texts


@pytest.mark.parametrize("verdict", RepairVerdict)
def test_each_verdict_has_a_kind_and_a_word(verdict: RepairVerdict) -> None:
    state = repair_texts.run_state(RepairRun(verdict=verdict))
    word = words.word("verdict", verdict, "en")
    assert state == {"kind": repair_texts.STATE_OF_VERDICT[verdict], "word": word}
    assert word


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (None, "running"),
        (Operation(state=OperationState.RUNNING), "running"),
        (Operation(state=OperationState.INTERRUPTED), "interrupted"),
    ],
)
def test_a_run_without_a_verdict_has_the_state_of_its_operation(
    operation: Operation | None, kind: str
) -> None:
    assert repair_texts.run_state(RepairRun(verdict=None, operation=operation))["kind"] == kind


def test_the_requester_is_a_user_or_somebody_at_the_console() -> None:
    user = User(name="hjkim")
    assert repair_texts.requester_text(RepairRun(requester=user)) == "hjkim"
    assert (
        repair_texts.requester_text(RepairRun(requester=user, console_user="root")) == "root, at the console"
    )


def test_a_step_of_the_forecast_has_the_seconds_of_the_last_run() -> None:
    tasks = [BilingualText(en="Stop it", ko="멈춤"), BilingualText(en="Start it", ko="시작")]
    last_run = RepairRun(tasks=[{"name": "Stop it", "seconds": 1.5}])
    preview: Any = SimpleNamespace(repair=SimpleNamespace(tasks=tasks), last_runs=[last_run])
    assert repair_texts.forecast_steps(cast(Any, preview)) == [
        {"word": "Stop it", "seconds": 1.5},
        {"word": "Start it", "seconds": None},
    ]
