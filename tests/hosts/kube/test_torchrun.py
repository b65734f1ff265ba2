"""torchrun between pods: a user's own program with torch, four ranks on two workers, gradients over Gloo."""

import re
import time

import pytest

from tests.hosts.appliance.conftest import ROOT
from tests.hosts.kube.scenarios.gangs import GOOD, UNITS
from tests.hosts.kube.scenarios.gangs import pilot as pilot
from tests.hosts.kube.scenarios.portal_user import MAKE_FILES, Pilot, measured

pytestmark = pytest.mark.long
PROGRAM = (ROOT / "tests" / "training" / "by_torch.py").read_text()


def test_ranks_in_two_pods_learn_the_digits_together(pilot: Pilot) -> None:
    training = pilot.do(
        MAKE_FILES, workspace=pilot.made["workspace"], name="torch", files={"main.py": PROGRAM}
    )
    since = time.monotonic()
    dataset = pilot.made["digits"]
    job = pilot.submit(training, UNITS, dataset_id=dataset, command=["main.py"], launcher="torchrun")
    pilot.wait(job, "running", seconds=900)
    measured("torchrun, four ranks over two nodes: submitted to running", time.monotonic() - since)
    hosts = pilot.cluster.bed.hosts
    assert set(pilot.pods(job).values()) == {hosts[name].name for name in ("w1", "w2")}
    pilot.wait(job, "finished", seconds=900)
    measured("torchrun, four ranks over two nodes: submitted to finished", time.monotonic() - since)
    said = [pilot.log(job, f"rank-{rank}") for rank in range(UNITS)]
    seen = [re.findall(rf"rank (\d) of {UNITS} saw (\d+) images", text)[-1] for text in said]
    assert [rank for rank, _ in seen] == ["0", "1", "2", "3"]
    assert all(int(count) > 300 for _, count in seen), "each rank had its own part"
    told = [re.findall(r"accuracy ([0-9.]+) weights (\w+)", text)[-1] for text in said]
    assert min(float(accuracy) for accuracy, _ in told) >= GOOD, told
    assert len({weights for _, weights in told}) == 1, "gradients were not exchanged"
    assert len(pilot.attempts(job)) == 1
    pilot.check()
