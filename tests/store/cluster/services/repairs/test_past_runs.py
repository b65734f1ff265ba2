"""The last runs of a repair say how long it takes, and a run under way holds its target."""

from datetime import timedelta

from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.repairs.past_runs import (
    find_locking_run,
    has_no_run_started,
    read_last_runs,
    run_durations,
)
from cluster.services.repairs.repair_targets import RepairTarget
from tests.builders import a_repair_run, an_administrator


def test_only_verified_runs_that_changed_something_say_how_long_a_repair_takes(cluster: Cluster) -> None:
    chief, now = an_administrator(cluster), cluster.clock()
    with cluster.store.read() as session:
        assert has_no_run_started(session)
    for seconds, verdict, is_dry_run in (
        (1, RepairVerdict.VERIFIED, False),
        (20, RepairVerdict.VERIFIED, False),
        (30, RepairVerdict.BROKEN, False),
        (40, RepairVerdict.VERIFIED, True),
    ):
        ended_at = now + timedelta(seconds=seconds)
        a_repair_run(
            cluster, chief, started_at=now, ended_at=ended_at, verdict=verdict, is_dry_run=is_dry_run
        )
    with cluster.store.read() as session:
        runs = read_last_runs(session, ["back-up-now", "restart-api"])
        assert not has_no_run_started(session)
    assert list(runs) == ["back-up-now"] and len(runs["back-up-now"]) == 3, "the newest three"
    assert run_durations(runs["back-up-now"]) == [20]


def test_a_run_under_way_holds_its_target(cluster: Cluster) -> None:
    run = a_repair_run(cluster, an_administrator(cluster))
    master, node = RepairTarget("master", "lab-a"), RepairTarget("node-1", "gpu01", 1)
    with cluster.store.read() as session:
        found = find_locking_run(session, [node, master])
        assert found is not None and found.id == run.id
        assert find_locking_run(session, [node]) is None
