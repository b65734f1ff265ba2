"""A gang over both workers that saves a checkpoint each second, and what it does when something is taken away."""

import json
import re
import time
from collections.abc import Callable, Collection, Iterator

import pytest

from tests.hosts.appliance.conftest import ROOT
from tests.hosts.kube.conftest import Cluster
from tests.hosts.kube.scenarios import portal_user as pilots
from tests.hosts.kube.scenarios.portal_user import (
    END_WORKSPACE,
    MAKE_CODE,
    MAKE_FILES,
    MAKE_MODEL,
    Pilot,
    measured,
)
from tests.hosts.kube.workloads.programs_of_jobs import SAVES

GOOD = 0.95
UNITS = 4
"""Two on each worker; the master has none."""
BY_TORCH = ROOT / "tests" / "training" / "by_torch.py"


@pytest.fixture(scope="module")
def pilot(installed: Cluster) -> Iterator[Pilot]:
    """With a workspace that has all units, the digits and a model."""
    pilot = enter_with_models(installed)
    yield pilot
    workspace = pilot.made["workspace"]
    if pilot.rows(f"select id from workspaces where id = {workspace} and ended_at is null"):
        pilot.do(END_WORKSPACE, workspace=workspace)


def enter_with_models(cluster: Cluster) -> Pilot:
    pilot = pilots.enter(cluster)
    pilot.until(lambda: offered(pilot) == UNITS, 300, "the agents' units")
    workspace = pilot.workspace(f"gangs-{time.time():.0f}", UNITS)
    pilot.made = {
        "workspace": workspace,
        "digits": pilot.digits(workspace),
        "lenet": pilot.do(MAKE_MODEL, workspace=workspace, name="lenet"),
        "saves": pilot.do(MAKE_CODE, workspace=workspace, name="saves", code=SAVES.format(epochs=100_000)),
    }
    return pilot


@pytest.fixture
def job(pilot: Pilot) -> Iterator[int]:
    """A gang of two nodes; nothing is left of it afterwards."""
    made = pilot.submit(pilot.made["saves"], UNITS, command=["main.py"], launcher="horovod")
    yield made
    pilot.stop(made)
    pilot.check()


def offered(pilot: Pilot) -> int:
    return sum(node["units"] for node in pilot.call("GET", "nodes")["items"] if node["state"] == "ready")


def checkpoints(pilot: Pilot, job: int, attempt: int = 1) -> int:
    return len(list(pilot.folder(job, attempt).glob("out/checkpoints/*.json")))


def runs(pilot: Pilot, job: int, attempt: int = 1) -> None:
    """It trains and has saved something."""
    pilot.until(
        lambda: len(pilot.attempts(job)) >= attempt and checkpoints(pilot, job, attempt) >= 3,
        900,
        f"checkpoints of attempt {attempt}",
        job,
    )


def goes_on(pilot: Pilot, job: int, codes: Collection[str], words: str, since: float) -> None:
    """Attempt 2 has begun where the newest checkpoint of attempt 1 was, once attempt 1 was wholly gone."""
    pilot.until(lambda: len(pilot.attempts(job)) >= 2, 900, "attempt 2", job)
    measured(f"{words}: units free and placed again", time.monotonic() - since)
    runs(pilot, job, attempt=2)
    measured(f"{words}: attempt 2 trains", time.monotonic() - since)
    first, second = pilot.attempts(job)[:2]
    assert first["end_code"] in codes, first
    assert second["resumed_from"] and "goes on from epoch 0" not in pilot.log(job)
    assert pilot.violations() == []


def goes_through(pilot: Pilot, job: int, words: str) -> None:
    """The same attempt saves on."""
    known = checkpoints(pilot, job)
    pilot.until(lambda: checkpoints(pilot, job) > known + 3, 120, words, job)
    (only,) = pilot.attempts(job)
    assert only["ended_at"] is None, (words, only)


def train_lenet(pilot: Pilot, words: str) -> int:
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


def submit_torchrun(pilot: Pilot, training: int) -> int:
    """Over REST."""
    dataset = pilot.made["digits"]
    return pilot.submit(training, UNITS, dataset_id=dataset, command=["main.py"], launcher="torchrun")


def train_by_torchrun(pilot: Pilot, words: str, submit: Callable[[Pilot, int], int] = submit_torchrun) -> int:
    """A person's own program with torch on both workers: each rank has its part, and all end with the same weights."""
    files = {"main.py": BY_TORCH.read_text()}
    training = pilot.do(MAKE_FILES, workspace=pilot.made["workspace"], name="torch", files=files)
    since = time.monotonic()
    job = submit(pilot, training)
    pilot.wait(job, "running", seconds=900)
    measured(f"{words}: submitted to running", time.monotonic() - since)
    hosts = pilot.cluster.bed.hosts
    assert set(pilot.pods(job).values()) == {hosts[name].name for name in ("w1", "w2")}
    pilot.wait(job, "finished", seconds=900)
    measured(f"{words}: submitted to finished", time.monotonic() - since)
    logs = [pilot.log(job, f"rank-{rank}") for rank in range(UNITS)]
    seen = [re.findall(rf"rank (\d) of {UNITS} saw (\d+) images", text)[-1] for text in logs]
    assert [rank for rank, _ in seen] == ["0", "1", "2", "3"]
    assert all(int(count) > 300 for _, count in seen), "each rank had its own part"
    ends = [re.findall(r"accuracy ([0-9.]+) weights (\w+)", text)[-1] for text in logs]
    assert min(float(accuracy) for accuracy, _ in ends) >= GOOD, ends
    assert len({weights for _, weights in ends}) == 1, "gradients were not exchanged"
    return job
