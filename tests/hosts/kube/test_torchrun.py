"""torchrun between pods: a user's own program with torch, four ranks on two workers, gradients over Gloo."""

import pytest

from tests.hosts.kube.scenarios.gangs import pilot as pilot
from tests.hosts.kube.scenarios.gangs import train_by_torchrun
from tests.hosts.kube.scenarios.portal_user import Pilot

pytestmark = pytest.mark.long


def test_ranks_in_two_pods_learn_the_digits_together(pilot: Pilot) -> None:
    job = train_by_torchrun(pilot, "torchrun, four ranks over two nodes")
    assert len(pilot.attempts(job)) == 1
    pilot.check()
