"""The steps of an operation as rows: what each is, its state, and how long it took."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from flask import Flask

from cluster.domain.states import OperationState
from cluster.services.operations.queries import read_dataset_names
from cluster.store.operations import Operation
from portal.i18n.messages import localized_step
from portal.i18n.translate import localized_duration
from portal.web.request_context import current_cluster

OPEN_STATES = (OperationState.REQUESTED, OperationState.RUNNING)


def init_app(app: Flask) -> None:
    app.add_template_global(names_of_operations)


def names_of_operations(operations: Iterable[Operation]) -> dict[int, str]:
    """Operation id → name of what it is about, where that is known and everybody who sees the operation may know it."""
    return read_dataset_names(current_cluster(), operations)


def operation_steps(operation: Operation) -> list[dict[str, str]]:
    """`state` is done, now, failed or to-come, as the macro of steps calls it."""
    return [step_row(step, operation.state) for step in operation.steps]


def step_row(step: dict[str, Any], operation_state: OperationState) -> dict[str, str]:
    """Describes one step. A step of a stopped operation is never under way, whatever the task worker wrote last."""
    state = str(step.get("state", "")).replace("_", "-")
    if state == "now" and operation_state not in OPEN_STATES:
        state = "failed"
    answer = str(step.get("detail") or "")
    if state == "done" and step.get("started_at") and step.get("ended_at"):
        answer = localized_duration(seconds_between(step["started_at"], step["ended_at"]))
    return {"word": localized_step(str(step.get("code", ""))), "state": state, "answer": answer}


def seconds_between(begin: str, end: str) -> float:
    """The seconds between two times in ISO format."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
