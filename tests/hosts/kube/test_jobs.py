"""Jobs of the portal as pods on three hosts: trained, queued, broken in every way, and each time all of it once."""

import json
import time
from collections.abc import Collection, Iterator

import pytest

from tests.hosts.kube import pilot as pilots
from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.manifests import DEVICES
from tests.hosts.kube.pilot import MAKE_CODE, MAKE_MODEL, Pilot, measured
from tests.hosts.kube.programs import PROBE
from tests.hosts.kube.programs_of_jobs import SAVES, SLEEPS

pytestmark = pytest.mark.long
GOOD = 0.95
UNITS = 4
"""Two CPU slots on each worker; the master has none."""


@pytest.fixture(scope="module")
def pilot(installed: Cluster) -> Iterator[Pilot]:
    """With a workspace that has all units, the digits and a model."""
    pilot = pilots.enter(installed)
    pilot.until(lambda: offered(pilot) == UNITS, 120, "the agents' units")
    workspace = pilot.workspace("flight", UNITS)
    pilot.made = {
        "workspace": workspace,
        "digits": pilot.digits(workspace),
        "lenet": pilot.do(MAKE_MODEL, workspace=workspace, name="lenet"),
        "saves": pilot.do(MAKE_CODE, workspace=workspace, name="saves", code=SAVES.format(epochs=100_000)),
    }
    yield pilot


@pytest.fixture
def job(pilot: Pilot) -> Iterator[int]:
    """A gang of two nodes that saves a checkpoint each second; nothing is left of it afterwards."""
    made = pilot.submit(pilot.made["saves"], UNITS, command=["main.py"], launcher="horovod")
    yield made
    pilot.stop(made)
    pilot.check()


def offered(pilot: Pilot) -> int:
    return sum(node["units"] for node in pilot.call("GET", "nodes")["items"] if node["state"] == "ready")


def fly(pilot: Pilot, words: str) -> int:
    """LeNet on both workers, to an accuracy that says that all ranks have learned together."""
    since = time.monotonic()
    variables = {"epochs": 20}
    made = pilot.submit(pilot.made["lenet"], UNITS, dataset_id=pilot.made["digits"], variables=variables)
    pilot.wait(made, "running", seconds=900)
    measured(f"{words}: submitted to running", time.monotonic() - since)
    assert {pilot.cluster.bed.hosts[name].name for name in ("w1", "w2")} == set(pilot.pods(made).values())
    pilot.wait(made, "finished", seconds=900)
    measured(f"{words}: submitted to finished", time.monotonic() - since)
    rows = (pilot.folder(made) / "out/metrics.jsonl").read_text().splitlines()
    scalars = [json.loads(row)["scalars"] for row in rows]
    assert max(each.get("accuracy/validation", 0.0) for each in scalars) >= GOOD
    assert f"Rank 0 of {UNITS} ends with weights" in pilot.log(made)
    return made


def test_the_first_flight_is_an_mpi_job_over_two_workers(pilot: Pilot) -> None:
    made = fly(pilot, "LeNet on four ranks over two nodes, MPIJob")
    assert len(pilot.attempts(made)) == 1
    pilot.check()


def checkpoints(pilot: Pilot, job: int, attempt: int = 1) -> int:
    return len(list(pilot.folder(job, attempt).glob("out/checkpoints/*.json")))


def runs(pilot: Pilot, job: int, attempt: int = 1) -> None:
    """It trains and has saved something."""
    pilot.until(
        lambda: len(pilot.attempts(job)) >= attempt and checkpoints(pilot, job, attempt) >= 3,
        900,
        f"checkpoints of attempt {attempt}: {pilot.why(job)}",
    )


def goes_on(pilot: Pilot, job: int, codes: Collection[str], words: str, since: float) -> None:
    """Attempt 2 has begun where the newest checkpoint of attempt 1 was, once attempt 1 was wholly gone."""
    pilot.until(lambda: len(pilot.attempts(job)) >= 2, 900, f"attempt 2: {pilot.why(job)}")
    measured(f"{words}: units free and placed again", time.monotonic() - since)
    runs(pilot, job, attempt=2)
    measured(f"{words}: attempt 2 trains", time.monotonic() - since)
    first, second = pilot.attempts(job)[:2]
    assert first["end_code"] in codes, first
    assert second["resumed_from"] and "goes on from epoch 0" not in pilot.log(job)
    assert pilot.violations() == []


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


def goes_through(pilot: Pilot, job: int, words: str) -> None:
    """The same attempt saves on."""
    known = checkpoints(pilot, job)
    pilot.until(lambda: checkpoints(pilot, job) > known + 3, 120, f"{words}: {pilot.why(job)}")
    (only,) = pilot.attempts(job)
    assert only["ended_at"] is None, (words, only)


MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"


def test_an_api_server_that_is_away_for_a_minute_is_no_event(pilot: Pilot, job: int) -> None:
    runs(pilot, job)
    master = pilot.cluster.master
    master.ask(f"mv {MANIFEST} /root/")
    try:
        master.wait_until("! timeout 2 bash -c '</dev/tcp/127.0.0.1/6443'", 120)
        since = time.monotonic()
        other = pilot.submit(pilot.made["saves"], 1, command=["main.py"], launcher="plain")
        while time.monotonic() - since < 60:
            goes_through(pilot, job, "while the API server is away")
    finally:
        master.ask(f"mv /root/kube-apiserver.yaml {MANIFEST}")
    pilot.cluster.wait("get nodes")
    back = time.monotonic()
    assert pilot.job(other)["state"] == "waiting"
    pilot.stop(job)
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
