"""Nodes with real GPUs are checked once a night by the button's own repair; a bad check is an alert until it passes."""

from dataclasses import replace
from datetime import time, timedelta

import pytest
from sqlalchemy import update

from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import UnitKind
from cluster.services.alerts.current_alerts import list_alerts
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.services.nodes import gpu_checks
from cluster.services.operations import lifecycle
from cluster.services.repairs.nightly_checks import request_nightly_checks
from cluster.services.repairs.repair_runs import record_run_end, record_run_start, record_run_tasks
from cluster.store.nodes import Unit
from cluster.store.repairs import RepairRun
from tests.builders import a_node, actor_of, an_administrator
from tests.conftest import Clock

SAID = "2 GPUs are on the PCI bus and nvidia-smi shows 1: no more.\n    remedy: Reseat it.\n    dmesg"


@pytest.fixture
def site(cluster: Cluster) -> Cluster:
    """Servers, 14:00 in Seoul: the master without GPUs, w1 with two real ones, w2 with stand-ins."""
    settings = replace(cluster.settings, backup_at=time(3, 0), launcher="systemd", master_node="m")
    a_node(cluster, 2, name="m")
    a_node(cluster, 2, name="w1", kind=UnitKind.GPU)
    stand_in = a_node(cluster, 2, name="w2", kind=UnitKind.GPU)
    with cluster.store.write() as session:
        session.execute(update(Unit).where(Unit.node_id == stand_in.id).values(simulated=True))
    return replace(cluster, settings=settings)


@pytest.fixture
def held(site: Cluster) -> HeldLease:
    lease = acquire_lease(site, "scheduler", "me", timedelta(days=30))
    assert lease is not None
    return lease


@pytest.fixture
def chief(site: Cluster) -> Actor:
    return actor_of(an_administrator(site))


def end(site: Cluster, run: RepairRun, verdict: RepairVerdict, said: str = "") -> None:
    operation = lifecycle.claim_operation(site, run.operation_id or 0, "a worker")
    assert operation is not None
    record_run_start(site, operation, [])
    output = dict.fromkeys(run.hosts, said) if said else {}
    record_run_tasks(site, operation, [{"name": "Assert", "hosts": {}, "output": output}], 1.0)
    record_run_end(site, operation, verdict, 2 if said else 0, [])


def names(runs: list[RepairRun]) -> list[tuple[str, str]]:
    return [(run.name, run.host) for run in runs]


def alerts(site: Cluster, chief: Actor) -> list[str]:
    return [alert.code for alert in list_alerts(site, chief) if "gpu_check" in alert.code]


def test_nodes_with_real_gpus_are_checked_once_a_night(site: Cluster, held: HeldLease, clock: Clock) -> None:
    assert request_nightly_checks(site, held) == []
    clock.move(hours=12)
    assert request_nightly_checks(site, held) == []
    clock.move(hours=1)
    runs = request_nightly_checks(site, held)
    assert names(runs) == [("verify-gpus", "w1"), ("check-gpus", "m")]
    assert request_nightly_checks(site, held) == []


def test_a_node_on_which_a_repair_works_is_left_out_until_the_next_night(
    site: Cluster, held: HeldLease, clock: Clock
) -> None:
    request_nightly_checks(site, held)
    clock.move(days=1)
    assert len(request_nightly_checks(site, held)) == 2
    clock.move(days=1)
    assert request_nightly_checks(site, held) == [], "last night's have not ended"


def test_who_has_lost_the_lease_asks_for_nothing(site: Cluster, held: HeldLease, clock: Clock) -> None:
    request_nightly_checks(site, held)
    clock.move(days=1)
    with pytest.raises(LeaseLost):
        request_nightly_checks(site, replace(held, fence=held.fence + 1))


def test_a_bad_check_is_an_alert_until_a_good_one(
    site: Cluster, held: HeldLease, chief: Actor, clock: Clock
) -> None:
    request_nightly_checks(site, held)
    clock.move(days=1)
    for run in request_nightly_checks(site, held):
        end(
            site,
            run,
            RepairVerdict.NOT_VERIFIED if run.host == "w1" else RepairVerdict.VERIFIED,
            SAID * (run.host == "w1"),
        )
    assert alerts(site, chief) == ["attention.gpu_check_failed"]
    (check,) = [each for each in gpu_checks.list_newest_checks(site) if not each.is_ok]
    assert (check.node, check.lines[0]) == ("w1", SAID.splitlines()[0])
    assert [each.name for each in gpu_checks.list_newest_checks(site, check.node_id)] == ["verify-gpus"]
    clock.move(days=1)
    for run in request_nightly_checks(site, held):
        end(site, run, RepairVerdict.VERIFIED)
    assert alerts(site, chief) == []
