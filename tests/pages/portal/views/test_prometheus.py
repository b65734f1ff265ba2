"""Numbers for Prometheus: right, for the right reader, at a fixed cost; and every alert asks for one that exists."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select
from werkzeug.test import TestResponse

from cluster.domain.jobs.attempts import AttemptOutcome
from cluster.domain.jobs.exits import ExitRecord
from cluster.domain.kubernetes.disagreements import Disagreement
from cluster.domain.kubernetes.status import KubernetesNodeStatus, KubernetesStatus
from cluster.domain.states import JobState, UnitState
from cluster.services.alerts.metrics import count_units
from cluster.services.alerts.scheduler_stats import record_scheduler_stats
from cluster.services.audit.seals import check_audit, seal_entries
from cluster.services.context import Cluster
from cluster.services.jobs.attempts import AttemptEnd, record_end
from cluster.services.kubernetes.status import record_kubernetes_status
from cluster.services.leases import HeldLease, acquire_lease, release_lease
from cluster.services.queue.totals import refresh_queue_totals
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Node
from portal.shared_objects import share_object
from tests.builders import a_job, a_node
from tests.conftest import Clock
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.test_queue import counted
from worker.executors.simulated import SimulatedExecutor
from worker.executors.simulated_cluster import SimulatedCluster
from worker.scheduling.cadence import PERIODS, PeriodicWork
from worker.scheduling.loop import SchedulerLoop, Wakeup

ROOT = Path(__file__).parents[4]
ALERTS = ROOT / "docs" / "howto" / "prometheus-alerts.yml"
KUBERNETES = ROOT / "docs" / "topic" / "workspaces-in-kubernetes.md"
GUIDE = ROOT / "docs" / "howto" / "monitoring.md"


def ask(lab: Lab, address: str = "127.0.0.1", **headers: str) -> TestResponse:
    client = lab.app.test_client()
    return client.get("/metrics", environ_base={"REMOTE_ADDR": address}, headers=headers)


def values(lab: Lab) -> dict[str, float]:
    """`groundcrew_jobs{waiting}` and the like: a metric has one label at most."""
    found = {}
    for family in text_string_to_metric_families(ask(lab).text):
        for sample in family.samples:
            label = "".join(f"{{{value}}}" for value in sample.labels.values())
            found[sample.name + label] = sample.value
    return found


def move(lab: Lab, **step: float) -> None:
    clock = lab.cluster.clock
    assert isinstance(clock, Clock)
    clock.move(**step)


def attempt_of(lab: Lab, job: Job) -> int:
    with lab.cluster.store.read() as session:
        return session.scalars(select(Attempt.id).where(Attempt.job_id == job.id)).one()


def scheduling(cluster: Cluster) -> HeldLease:
    held = acquire_lease(cluster, "scheduler", "one", timedelta(hours=1))
    assert held
    return held


def test_jobs_units_and_nodes_are_counted_by_what_is_the_case_with_them(lab: Lab) -> None:
    lab.a_running_job()
    before = lab.cluster.clock() - timedelta(days=1)
    a_job(lab.cluster, lab.own_code, lab.minjun, submitted_at=before, held_at=before)
    waiting = a_job(
        lab.cluster, lab.own_code, lab.minjun, submitted_at=lab.cluster.clock() - timedelta(hours=2)
    )
    a_node(lab.cluster, 3, state=UnitState.BROKEN)
    silent = a_node(lab.cluster, 2)
    with lab.cluster.store.write() as session:
        session.get_one(Node, silent.id).heartbeat_at = lab.cluster.clock() - timedelta(minutes=2)
    refresh_queue_totals(lab.cluster, scheduling(lab.cluster))
    found = values(lab)
    assert waiting.state is JobState.WAITING
    assert (found["groundcrew_jobs{waiting}"], found["groundcrew_jobs{held}"]) == (1, 1)
    assert found["groundcrew_jobs{running}"] == found["groundcrew_units{booked}"] == 1
    assert found["groundcrew_oldest_waiting_seconds"] == 7200
    assert (found["groundcrew_units{broken}"], found["groundcrew_units{lost}"]) == (3, 2)
    assert found["groundcrew_nodes{unreachable}"] == 1


def test_gpus_that_answer_have_their_load(lab: Lab) -> None:
    loads = {
        "GPU-1": {"percent": 87, "memory_used_bytes": 2**30, "temperature": 64, "power": 310.5},
        "GPU-2": {},
    }
    name = a_node(lab.cluster, 2, facts={"gpu_load": loads}).name
    silent = a_node(lab.cluster, 1, facts={"gpu_load": loads})
    with lab.cluster.store.write() as session:
        session.get_one(Node, silent.id).heartbeat_at = lab.cluster.clock() - timedelta(minutes=2)
    found = {key: value for key, value in values(lab).items() if key.startswith("groundcrew_gpu_")}
    gpu = f"{{GPU-1}}{{{name}}}"
    assert found == {
        f"groundcrew_gpu_utilisation_ratio{gpu}": 0.87,
        f"groundcrew_gpu_memory_used_bytes{gpu}": 2**30,
        f"groundcrew_gpu_temperature_celsius{gpu}": 64,
        f"groundcrew_gpu_power_watts{gpu}": 310.5,
    }


def test_a_node_that_reports_while_they_are_counted_counts_the_next_time(lab: Lab) -> None:
    with lab.cluster.store.read() as session:
        assert set(count_units(session, {}).values()) == {0}


def test_attempts_count_by_the_meaning_of_their_exit_from_pulse_to_pulse(lab: Lab) -> None:
    held = scheduling(lab.cluster)
    record_scheduler_stats(lab.cluster, held, 0.01, 0.02)
    a_node(lab.cluster, 4)
    for code, exit_code in (("exit.finished", 0), ("exit.finished", 0), ("exit.code", 1)):
        job = lab.a_running_job(fence=1)
        state = JobState.FAILED if exit_code else JobState.FINISHED
        # Its shim saw it end before the last pulse, and nobody looked until now.
        seen = lab.cluster.clock() - timedelta(minutes=1)
        truth = ExitRecord(job.id, 1, 1, exit_code, started_at=job.started_at, ended_at=seen)
        move(lab, seconds=5)
        assert record_end(
            lab.cluster,
            held,
            AttemptEnd(attempt_of(lab, job), AttemptOutcome(state, code, {}, exit_code), truth),
        )
    record_scheduler_stats(lab.cluster, held, 0.03, 0.5)
    record_scheduler_stats(lab.cluster, held, 0.03, 0.5)
    found = values(lab)
    assert found["groundcrew_attempts_ended_total{exit.finished}"] == 2
    assert found["groundcrew_attempts_ended_total{exit.code}"] == 1
    assert found["groundcrew_scheduler_pass_seconds{slowest}"] == 0.5
    assert found["groundcrew_scheduler_pulse_age_seconds"] == 0


def test_the_scheduler_writes_its_pulse_once_the_time_has_come(lab: Lab, tmp_path: Path) -> None:
    executor = SimulatedExecutor(SimulatedCluster(tmp_path / "world"))
    deaf = cast(Wakeup, SimpleNamespace(wake=lambda: None))
    moments = [0.0]
    scheduler = SchedulerLoop(lab.cluster, executor, tmp_path, deaf, steady=lambda: moments[-1])
    assert scheduler.renew_lease()
    scheduler.run_pass()
    assert values(lab)["groundcrew_scheduler_pulse_age_seconds"] == float("inf")
    moments.append(PERIODS[PeriodicWork.SCHEDULER_STATS])
    scheduler.run_pass()
    assert values(lab)["groundcrew_scheduler_pulse_age_seconds"] == 0


def test_who_had_to_wait_for_the_lease_measures_no_look_before_its_first(lab: Lab, tmp_path: Path) -> None:
    other, moments = scheduling(lab.cluster), [10_000.0]
    steps = iter((lambda: release_lease(lab.cluster, other), lambda: None, lambda: scheduler.stop()))

    def wait(seconds: float, ends: object) -> bool:
        next(steps)()
        moments.append(moments[-1] + PERIODS[PeriodicWork.SCHEDULER_STATS])
        return False

    ears = SimpleNamespace(wait=wait, wake=lambda: None, skip_to_newest=lambda: None)
    executor = SimulatedExecutor(SimulatedCluster(tmp_path / "world"))
    steady = lambda: moments[-1]  # noqa: E731 - a clock that moves between two passes alone.
    scheduler = SchedulerLoop(lab.cluster, executor, tmp_path, cast(Wakeup, ears), steady)
    scheduler.run()
    assert values(lab)["groundcrew_scheduler_pass_seconds{slowest}"] < 600


def test_what_has_never_been_is_infinitely_old(lab: Lab) -> None:
    found = values(lab)
    assert (
        found["groundcrew_verified_backup_age_seconds"]
        == found["groundcrew_audit_check_age_seconds"]
        == float("inf")
    )
    assert found["groundcrew_audit_whole"] == 0
    move(lab, minutes=5)
    seal_entries(lab.cluster)
    check_audit(lab.cluster, [])
    move(lab, minutes=1)
    found = values(lab)
    assert (found["groundcrew_audit_whole"], found["groundcrew_audit_check_age_seconds"]) == (1, 60)


def test_a_reading_costs_the_same_however_much_waits(lab: Lab) -> None:
    held = scheduling(lab.cluster)
    costs = []
    for _ in range(2):
        for _ in range(40):
            a_job(lab.cluster, lab.own_code, lab.minjun)
        a_node(lab.cluster, 4)
        refresh_queue_totals(lab.cluster, held)
        with counted(lab.cluster) as said:
            assert ask(lab).status_code == 200
        costs.append(len([line for line in said if line.startswith("SELECT")]))
    assert costs[0] == costs[1] <= 8


@pytest.mark.parametrize("address", ["192.0.2.7", "10.0.0.1", "fe80::1", ""])
def test_without_a_token_only_this_machine_reads(lab: Lab, address: str) -> None:
    assert ask(lab, address).status_code == 403
    assert ask(lab, "::1").status_code == ask(lab, "127.0.0.1").status_code == 200


def test_what_somebody_passes_on_does_not_come_from_this_machine(lab: Lab) -> None:
    assert ask(lab, "127.0.0.1", **{"X-Forwarded-For": "127.0.0.1"}).status_code == 403


def test_behind_our_own_nginx_one_address_is_the_readers_own_and_two_are_passed_on(lab: Lab) -> None:
    settings = replace(lab.cluster.settings, is_behind_proxy=True)
    share_object(lab.app, Cluster, replace(lab.cluster, settings=settings))
    assert ask(lab, "127.0.0.1", **{"X-Forwarded-For": "127.0.0.1"}).status_code == 200
    assert ask(lab, "127.0.0.1", **{"X-Forwarded-For": "192.0.2.7, 127.0.0.1"}).status_code == 403


def test_with_a_token_whoever_brings_it_reads(lab: Lab) -> None:
    settings = replace(lab.cluster.settings, metrics_token="canary-of-metrics")
    share_object(lab.app, Cluster, replace(lab.cluster, settings=settings))
    assert ask(lab, "192.0.2.7", Authorization="Bearer canary-of-metrics").status_code == 200
    assert ask(lab, "127.0.0.1").status_code == 403
    assert ask(lab, "192.0.2.7", Authorization="Bearer canary-of-metric").status_code == 403
    assert "canary" not in repr(settings)


def test_each_alert_asks_for_a_metric_that_exists_and_the_guide_names_them_all(lab: Lab) -> None:
    record_scheduler_stats(lab.cluster, scheduling(lab.cluster), 0.01, 0.02)
    text = ask(lab).text
    there = {name.removesuffix("_created") for name in re.findall(r"^# TYPE (\w+) ", text, re.M)}
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    assert rules
    for rule in rules:
        asked = set(re.findall(r"groundcrew_\w+", rule["expr"]))
        assert asked and asked <= there, (rule["alert"], asked - there)
        assert rule["annotations"]["summary"] and rule["labels"]["severity"] in ("warning", "critical")
    assert set(re.findall(r"`(groundcrew_\w+)", GUIDE.read_text())) == there


def test_kubernetes_has_numbers_where_jobs_run_on_it(lab: Lab) -> None:
    assert not [name for name in values(lab) if "kubernetes" in name]
    held = acquire_lease(lab.cluster, "scheduler", "kubernetes", timedelta(days=1))
    assert held
    stranger = Disagreement("disagreement.stranger", "default/trainer")
    nodes = (KubernetesNodeStatus("gpu01", True, True), KubernetesNodeStatus("gpu02", False, True))
    standing = KubernetesStatus(lab.cluster.clock(), nodes, disagreements=(stranger,), seen=7)
    record_kubernetes_status(lab.cluster, held, standing)
    found = {name: value for name, value in values(lab).items() if "kubernetes" in name}
    assert found == {
        "groundcrew_kubernetes_answers": 1,
        "groundcrew_kubernetes_nodes{ready}": 1,
        "groundcrew_kubernetes_nodes{not_ready}": 1,
        "groundcrew_kubernetes_disagreements_now{stranger}": 1,
        "groundcrew_kubernetes_disagreements_total": 7,
    }
    told = set(re.findall(r"`(groundcrew_kubernetes_\w+)", KUBERNETES.read_text()))
    assert {re.sub(r"\{.*", "", name) for name in found} == told
