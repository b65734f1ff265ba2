"""The reason that the conditions of a Workload give."""

from cluster.domain.kubernetes.kueue_messages import reason_of_workload


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
