"""The reason that the conditions of a Workload give."""

import pytest

from cluster.domain.kubernetes.kueue_messages import reason_of_workload
from tests.unit.cluster.domain.kubernetes.message_cases import Case, Read, cases_of, check_reason


@pytest.mark.parametrize(("thing", "read", "means"), cases_of("kueue.yml"))
def test_what_is_said_is_understood(thing: Case, read: Read, means: Case | None) -> None:
    check_reason(read(thing), means)


def test_evicted_counts_more_than_an_older_admission() -> None:
    conditions = [
        {"type": "Admitted", "status": "True", "reason": "Admitted", "message": ""},
        {"type": "Evicted", "status": "True", "reason": "ClusterQueueStopped", "message": ""},
    ]
    reason = reason_of_workload({"status": {"conditions": conditions}})
    assert reason is not None and reason.code == "kubernetes.queue_stopped"


def test_a_workload_that_nobody_has_looked_at_has_no_reason() -> None:
    assert reason_of_workload({"metadata": {"name": "x"}}) is None
    assert reason_of_workload({"status": {"conditions": []}}) is None
