"""Jobs of the portal as pods on three hosts: trained, queued, broken in every way, and each time all of it once."""

import time
from collections import Counter

import pytest

from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.scenarios.gangs import goes_on, goes_through, runs, train_lenet
from tests.hosts.kube.scenarios.gangs import job as job
from tests.hosts.kube.scenarios.gangs import pilot as pilot
from tests.hosts.kube.scenarios.portal_user import MAKE_CODE, Pilot, measured
from tests.hosts.kube.workloads.manifests import DEVICES
from tests.hosts.kube.workloads.program_images import PROBE
from tests.hosts.kube.workloads.programs_of_jobs import SLEEPS

pytestmark = pytest.mark.long


def test_the_first_training_is_an_mpi_job_over_two_workers(pilot: Pilot) -> None:
    made = train_lenet(pilot, "LeNet on four ranks over two nodes, MPIJob")
    assert len(pilot.attempts(made)) == 1
    (used,) = pilot.rows(f"select cpu_seconds, max_memory_bytes from jobs where id = {made}")
    assert used["cpu_seconds"] > 10 and used["max_memory_bytes"] > 500_000_000, "told by ranks in other pods"
    pilot.check()


def test_three_units_over_two_nodes_are_two_pods_here_and_one_there(pilot: Pilot) -> None:
    """As the queue has given them: kube-scheduler alone knows the nodes, and not how many on each."""
    made = pilot.submit(pilot.made["saves"], 3, command=["main.py"], launcher="horovod")
    runs(pilot, made)
    given = pilot.rows(
        "select nodes.name, count(*) as units from allocations join attempts on attempts.id = attempt_id "
        "join units on units.id = unit_id join nodes on nodes.id = units.node_id "
        f"where job_id = {made} and allocations.ended_at is null group by nodes.name"
    )
    workers = Counter(node for name, node in pilot.pods(made).items() if "worker" in name)
    assert workers == {each["name"]: each["units"] for each in given}
    assert sorted(workers.values()) == [1, 2]
    assert pilot.log(made, "rank-2").startswith("goes on from epoch 0")
    pilot.stop(made)
    pilot.check()


def test_a_worker_that_starts_anew_takes_the_gang_along_once(pilot: Pilot, job: int) -> None:
    """Its pods are told to go before it is: whichever is seen first is the cause that is said."""
    runs(pilot, job)
    since = time.monotonic()
    pilot.cluster.bed.restart("w1")
    causes = ["interrupted.node_rebooted", "interrupted.pod_deleted"]
    goes_on(pilot, job, causes, "worker started anew under a gang", since)


def test_a_pod_deleted_by_hand_is_followed_by_another_attempt(pilot: Pilot, job: int) -> None:
    runs(pilot, job)
    since = time.monotonic()
    pod = next(name for name in pilot.pods(job) if "worker" in name)
    pilot.cluster.kubectl(f"delete pod --wait=false --namespace gc-workspace-{pilot.made['workspace']} {pod}")
    goes_on(pilot, job, ["interrupted.pod_deleted"], "pod deleted by hand", since)


MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"


def test_an_api_server_that_is_away_for_a_minute_is_no_event(pilot: Pilot, job: int) -> None:
    """And what is stopped then ends then."""
    runs(pilot, job)
    master = pilot.cluster.master
    master.ask(f"mv {MANIFEST} /root/")
    try:
        master.wait_until("! timeout 2 bash -c '</dev/tcp/127.0.0.1/6443'", 120)
        since = time.monotonic()
        other = pilot.submit(pilot.made["saves"], 1, command=["main.py"], launcher="plain")
        while time.monotonic() - since < 60:
            goes_through(pilot, job, "while the API server is away")
        assert pilot.job(other)["state"] == "waiting"
        pilot.call("POST", f"jobs/{job}/stop")
        ended = (pilot.folder(job) / "control/exit.json").exists
        measured("stopped while the API server is away: ended", pilot.until(ended, 30, "its end"))
    finally:
        master.ask(f"mv /root/kube-apiserver.yaml {MANIFEST}")
    pilot.cluster.wait("get nodes")
    back = time.monotonic()
    pilot.wait(job, "stopped", seconds=120)
    pilot.wait(other, "running", seconds=300)
    measured("API server away for 60 s: the next job runs after it is back", time.monotonic() - back)
    assert len(pilot.attempts(job)) == 1 == len(pilot.attempts(other))
    pilot.stop(other)


def test_of_three_jobs_of_two_units_one_waits_and_starts_by_itself(pilot: Pilot) -> None:
    sleeps = pilot.do(
        MAKE_CODE, workspace=pilot.made["workspace"], name="sleeps", code=SLEEPS.format(seconds=30)
    )
    jobs = [pilot.submit(sleeps, 2, command=["main.py"], launcher="horovod") for _ in range(3)]
    for each in jobs[:2]:
        pilot.wait(each, "running")
    third = pilot.job(jobs[2])
    assert third["state"] == "waiting" and third["waiting"]["sentence"], third
    since = time.monotonic()
    for each in jobs[:2]:
        pilot.wait(each, "finished")
    pilot.wait(jobs[2], "running", "finished")
    measured(f"third job of 2 on 4 ({third['waiting']['sentence']}): waited", time.monotonic() - since)
    pilot.wait(jobs[2], "finished")
    assert "done" in pilot.log(jobs[2])
    pilot.check()


STRANGER = """
apiVersion: v1
kind: Pod
metadata: {{name: by-hand, namespace: default}}
spec:
  terminationGracePeriodSeconds: 1
  nodeName: {node}
  containers:
    - {{name: probe, image: "{image}", imagePullPolicy: Never, args: [serve],
       resources: {{limits: {{nvidia.com/gpu: 1}}}}}}
"""


def test_a_pod_with_a_gpu_that_a_stranger_made_is_named(pilot: Pilot, with_programs: Cluster) -> None:
    with_programs.apply(DEVICES)
    name = with_programs.bed.hosts["w1"].name
    with_programs.wait(f"get node {name} -o jsonpath='{{.status.allocatable.nvidia\\.com/gpu}}' | grep -x 2")
    with_programs.apply(STRANGER.format(node=name, image=PROBE))

    def is_named() -> bool:
        said = pilot.call("GET", "nodes/kubernetes")["disagreements"]
        return any("default/by-hand" in each for each in said)

    try:
        measured("a stranger's pod is named", pilot.until(is_named, 120, "the disagreement"))
    finally:
        with_programs.kubectl("delete pod by-hand --wait=false")
