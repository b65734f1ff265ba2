"""The lease is renewed while a body runs, also after a database that was away, and by nobody who has lost it."""

import threading
from collections.abc import Callable
from typing import cast

import pytest
from sqlalchemy.exc import OperationalError

from cluster.services.context import Cluster
from cluster.store.operations import Operation
from worker.tasks import operation_lease
from worker.tasks.operation_lease import lease_kept

AWAY = OperationalError("UPDATE", None, Exception("away"))
Renewals = Callable[..., tuple[list[tuple[int, int]], threading.Event]]


@pytest.fixture
def renewals(monkeypatch: pytest.MonkeyPatch) -> Renewals:
    """Each answer once; the event is set with the last one."""
    monkeypatch.setattr(operation_lease, "RENEW_SECONDS", 0.005)

    def answering(*answers: bool | Exception) -> tuple[list[tuple[int, int]], threading.Event]:
        asked: list[tuple[int, int]] = []
        is_over = threading.Event()

        def renew(cluster: Cluster, operation_id: int, fence: int) -> bool:
            if len(asked) >= len(answers):
                return True
            asked.append((operation_id, fence))
            answer = answers[len(asked) - 1]
            if len(asked) == len(answers):
                is_over.set()
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(operation_lease, "renew_operation", renew)
        return asked, is_over

    return answering


def renewing_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "lease"]


def test_it_is_renewed_again_and_again_also_after_a_failure(renewals: Renewals) -> None:
    asked, is_over = renewals(True, AWAY, True)
    with lease_kept(cast(Cluster, None), Operation(id=7, fence=3)):
        assert is_over.wait(20)
    assert asked == [(7, 3)] * 3
    assert renewing_threads() == [], "nobody renews what has ended"


def test_who_has_lost_it_renews_it_no_more(renewals: Renewals) -> None:
    asked, is_over = renewals(False, True)
    with lease_kept(cast(Cluster, None), Operation(id=7, fence=3)):
        for thread in renewing_threads():
            thread.join(20)
        assert renewing_threads() == []
    assert asked == [(7, 3)] and not is_over.is_set()


def test_a_body_that_fails_ends_the_renewing_too(renewals: Renewals) -> None:
    renewals(True)
    with pytest.raises(KeyError), lease_kept(cast(Cluster, None), Operation(id=7, fence=3)):
        raise KeyError("broken")
    assert renewing_threads() == []
