"""Attempts that begin together are read together: each statement more would cost every one of a thousand starts."""

from pathlib import Path

import pytest
from sqlalchemy import event

from cluster.services.context import Cluster
from tests.builders import a_job, a_node, a_training, a_workspace, holding
from worker.scheduling.starts.start_plan_builder import build_start_plan
from worker.scheduling.starts.start_rows import read_start_rows


def make_attempts(cluster: Cluster, count: int) -> list[int]:
    node = a_node(cluster, units=count, name=f"node-of-{count}")
    training = a_training(cluster, a_workspace(cluster, units=count))
    return [holding(cluster, a_job(cluster, training, units=1), [unit]).id for unit in node.units]


@pytest.mark.parametrize("count", [1, 12])
def test_as_many_statements_read_twelve_as_one(cluster: Cluster, count: int) -> None:
    ids, said = make_attempts(cluster, count), list[str]()
    event.listen(cluster.store.engine, "before_cursor_execute", lambda *given: said.append(given[2]))
    loaded = read_start_rows(cluster, ids)
    before = len(said)
    plans = [build_start_plan(cluster, Path("/runtime"), each, None, loaded) for each in ids]
    assert before <= 5 and len(said) == before, said
    assert [plan.job for plan in plans] == [loaded.attempts[each].job_id for each in ids]
    assert len({plan.program.environment["GROUNDCREW_UNITS"] for plan in plans}) == count
