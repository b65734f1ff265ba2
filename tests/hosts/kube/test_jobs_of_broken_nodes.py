"""Gangs under which a node, its kubelet or its engine is taken away: all of it once, and on from the checkpoint."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.scenarios.gangs import checkpoints, goes_on, goes_through, runs, train_lenet
from tests.hosts.kube.scenarios.gangs import job as job
from tests.hosts.kube.scenarios.gangs import pilot as pilot
from tests.hosts.kube.scenarios.portal_user import END_WORKSPACE, Pilot, measured
from tests.hosts.machines.testbed import Host

pytestmark = pytest.mark.long
GIVEN_UP_WITHIN = 150
"""Seconds: the grace time of a silent node is 60 in this inventory."""


def say_ready(cluster: Cluster, host: Host, status: str) -> None:
    """Until Kubernetes says so of the node."""
    condition = "jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'"
    cluster.wait(f"get node {host.name} -o {condition} | grep -x {status}", 300)


@contextmanager
def stopped(host: Host, unit: str) -> Iterator[None]:
    host.ask(f"systemctl stop {unit}")
    try:
        yield
    finally:
        host.ask(f"systemctl start {unit}")


def test_a_worker_whose_power_is_cut_takes_the_gang_along_once(pilot: Pilot, job: int) -> None:
    """The rest of the gang is ended and its units are free before anybody is back; not before the node is given up."""
    runs(pilot, job)
    bed, since = pilot.cluster.bed, time.monotonic()
    bed.kill("w1")
    try:
        pilot.until(lambda: pilot.attempts(job)[0]["ended_at"], GIVEN_UP_WITHIN, "its end", job)
        measured("power of a worker cut under a gang: given up", time.monotonic() - since)
        (first,) = pilot.attempts(job)
        assert first["end_code"] == "interrupted.node_lost", first
        lost = f"select lost_at from nodes where name = '{bed.hosts['w1'].name}'"
        assert pilot.rows(f"select id from attempts where job_id = {job} and ended_at >= ({lost})")
        on_the_other = [node for node in pilot.pods(job).values() if node == bed.hosts["w2"].name]
        assert on_the_other == []
        assert pilot.rows("select id from allocations where ended_at is null") == []
        assert pilot.job(job)["state"] == "waiting"
    finally:
        bed.power_on("w1")
    back = time.monotonic()
    goes_on(pilot, job, ["interrupted.node_lost"], "power of a worker cut, after it is back", back)


@pytest.mark.parametrize("unit", ["kubelet", "containerd"])
def test_a_gang_trains_through_a_node_whose_unit_stands_still(pilot: Pilot, job: int, unit: str) -> None:
    """Containers need neither; who looks at the node sees that it is not ready."""
    runs(pilot, job)
    host = pilot.cluster.bed.hosts["w2"]
    with stopped(host, unit):
        say_ready(pilot.cluster, host, "Unknown" if unit == "kubelet" else "False")
        goes_through(pilot, job, f"{unit} stopped")
    since = time.monotonic()
    say_ready(pilot.cluster, host, "True")
    goes_through(pilot, job, f"{unit} started again")
    measured(f"{unit} stood still under a gang: no event; ready again", time.monotonic() - since)


def test_a_drained_node_gives_its_gang_back_with_a_checkpoint(pilot: Pilot, job: int) -> None:
    """By kubectl, as administrators of clusters do."""
    runs(pilot, job)
    name, since = pilot.cluster.bed.hosts["w1"].name, time.monotonic()
    pilot.cluster.kubectl(f"drain {name} --ignore-daemonsets --delete-emptydir-data --force --timeout=120s")
    measured("kubectl drain under a gang: drained", time.monotonic() - since)
    try:
        pilot.until(lambda: pilot.attempts(job)[0]["ended_at"], 60, "its end", job)
    finally:
        pilot.cluster.kubectl(f"uncordon {name}")
    codes = ["kubernetes.taken_off", "interrupted.pod_deleted"]
    goes_on(pilot, job, codes, "kubectl drain under a gang, uncordoned", time.monotonic())


def test_after_a_cold_start_of_everything_the_gang_goes_on(pilot: Pilot, job: int) -> None:
    runs(pilot, job)
    since = time.monotonic()
    pilot.cluster.bed.restart(*pilot.cluster.bed.hosts)
    pilot.until(pilot.answers, 300, "the portal")
    causes = ["interrupted.node_rebooted", "interrupted.pod_deleted"]
    goes_on(pilot, job, causes, "cold start of all hosts under a gang", since)


SPEAK_OVER = (
    "sed -i 's/^GROUNDCREW_HOROVOD_OVER=.*/GROUNDCREW_HOROVOD_OVER={}/' /etc/groundcrew/groundcrew.env && "
    "systemctl restart groundcrew-scheduler"
)
"""As `portal_horovod_over` of the inventory."""


def test_horovod_over_gloo_is_an_indexed_job_over_two_workers(installed: Cluster, pilot: Pilot) -> None:
    master = installed.master
    master.ask(SPEAK_OVER.format("gloo"))
    try:
        made = train_lenet(pilot, "LeNet on four ranks over two nodes, Indexed Job over Gloo")
        kinds = installed.kubectl(f"get jobs,mpijobs -A -o name -l groundcrew.io/job={made}")
        assert "mpijob" not in kinds
    finally:
        master.ask(SPEAK_OVER.format("mpi"))


def test_a_term_that_ends_admits_nothing_more_and_keeps_the_data(pilot: Pilot, job: int) -> None:
    """What runs goes on; what waits says why."""
    runs(pilot, job)
    other = pilot.submit(pilot.made["saves"], 1, command=["main.py"], launcher="plain")
    space = f"gc-workspace-{pilot.made['workspace']}"
    pilot.do(END_WORKSPACE, workspace=pilot.made["workspace"])
    pilot.cluster.wait(f"get clusterqueue {space} -o jsonpath='{{.spec.stopPolicy}}' | grep -x Hold", 60)
    goes_through(pilot, job, "after the end of its term")
    known = checkpoints(pilot, job)
    pilot.stop(job)
    waits = pilot.job(other)
    assert (waits["state"], waits["waiting"]["code"]) == ("waiting", "waiting.workspace_expired"), waits
    assert checkpoints(pilot, job) >= known
    assert json.loads(pilot.cluster.kubectl(f"get namespace {space} -o json"))["status"]["phase"] == "Active"
    pilot.stop(other)
