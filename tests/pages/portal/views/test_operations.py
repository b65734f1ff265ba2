"""A failed operation is explained and retried on its page."""

import re

import pytest

from cluster.domain.states import OperationKind, OperationState, TaskQueue, UserRole
from cluster.store.operations import Operation
from cluster.store.users import User
from tests.audit_entries import actions
from tests.builders import a_repair_run, add, an_administrator
from tests.pages.portal.filled_portal import House
from tests.pages.portal.pages_lab import Lab


def test_a_failed_operation_says_why_and_is_tried_again(house: House) -> None:
    browser = house.visitor("owner")
    page = browser.get("/operations/1").text
    assert "dropped each time" in page and "Try again" in page
    log = browser.get("/operations/1/log")
    assert "the disk is full" in page and log.text.startswith("first line")
    log.close()
    assert "Try again" not in house.visitor("member").get("/operations/1").text
    assert browser.post("/operations/1/retry").status_code == 303
    assert browser.post("/operations/1/retry").status_code == 409
    assert "operation.retried" in actions(house.cluster)


def test_an_operation_names_its_dataset(lab: Lab) -> None:
    operation = Operation(
        kind=OperationKind.DATASET_IMPORT, queue=TaskQueue.GENERAL, subject_id=lab.dataset.id,
        workspace_id=lab.workspace.id, state=OperationState.FINISHED,
        requested_by=lab.seoyeon.id, requested_at=lab.cluster.clock(),
    )  # fmt: skip
    add(lab.cluster, operation)
    browser = lab.browser(lab.minjun)
    for path in ("/operations", f"/operations/{operation.id}"):
        assert re.search(r"Import a dataset.*?digits", browser.get(path).text, re.DOTALL), path


@pytest.mark.parametrize(
    ("who", "status", "text"),
    [
        ("an administrator", 409, "A repair is not tried again"),
        ("who asked for it as an administrator", 404, ""),
        ("a member", 404, ""),
    ],
)
def test_nobody_starts_an_interrupted_repair_by_its_operation(
    lab: Lab, who: str, status: int, text: str
) -> None:
    """A repair runs as root on the hosts, and its preview would be of another day."""
    cluster, former = lab.cluster, an_administrator(lab.cluster, "former")
    run = a_repair_run(cluster, former)
    operation = Operation(
        kind=OperationKind.REPAIR, queue=TaskQueue.REPAIR, subject_id=run.id, claims=5,
        state=OperationState.INTERRUPTED, requested_by=former.id, requested_at=cluster.clock(),
    )  # fmt: skip
    add(cluster, operation)
    with cluster.store.write() as session:
        session.get_one(User, former.id).role = UserRole.USER
    person = {"an administrator": lab.administrator, "a member": lab.minjun}.get(who, former)
    answer = lab.browser(person).post(f"/operations/{operation.id}/retry")
    with cluster.store.read() as session:
        state = session.get_one(Operation, operation.id).state
    assert (answer.status_code, state) == (status, OperationState.INTERRUPTED)
    assert text in answer.text
