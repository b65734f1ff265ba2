"""A lease has one holder, and who has lost it changes nothing."""

from collections.abc import Callable

import pytest

from cluster.domain.states import AttemptState, JobState
from cluster.services.context import Cluster
from cluster.services.jobs import attempts
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease, release_lease, renew_lease
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.store.jobs import Attempt
from tests.builders import a_job, a_node, a_training, a_workspace
from tests.conftest import Clock
from tests.store.conftest import FINISHED, LASTS, job_of


@pytest.mark.parametrize(
    "change",
    [
        lambda cluster, held, attempt: attempts.record_starting(cluster, held, {attempt: None}),
        lambda cluster, held, attempt: attempts.record_running(cluster, held, {attempt: {}}),
        lambda cluster, held, attempt: attempts.record_end(
            cluster, held, attempts.AttemptEnd(attempt, FINISHED)
        ),
        lambda cluster, held, attempt: attempts.record_interruption(
            cluster, held, attempt, "interrupted.x", {}
        ),
    ],
)
def test_who_lost_the_lease_changes_nothing(
    cluster: Cluster, held: HeldLease, clock: Clock, change: Callable[[Cluster, HeldLease, int], bool]
) -> None:
    a_node(cluster)
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)))
    (attempt_id,) = place_waiting_jobs(cluster, held)
    clock.move(seconds=11)
    assert acquire_lease(cluster, "scheduler", "two", LASTS)
    with pytest.raises(LeaseLost):
        change(cluster, held, attempt_id)
    with cluster.store.read() as session:
        assert session.get_one(Attempt, attempt_id).state is AttemptState.PLACED
    assert job_of(cluster, job).state is JobState.STARTING


def test_a_lease_has_one_holder_until_its_time_is_over(cluster: Cluster, clock: Clock) -> None:
    one = acquire_lease(cluster, "x", "one", LASTS)
    assert one and one.fence == 1
    assert acquire_lease(cluster, "x", "two", LASTS) is None
    clock.move(seconds=9)
    assert acquire_lease(cluster, "x", "one", LASTS) == one
    clock.move(seconds=9)
    assert acquire_lease(cluster, "x", "two", LASTS) is None
    clock.move(seconds=2)
    two = acquire_lease(cluster, "x", "two", LASTS)
    assert two and two.fence == 2
    release_lease(cluster, one)
    assert acquire_lease(cluster, "x", "one", LASTS) is None
    release_lease(cluster, two)
    assert acquire_lease(cluster, "x", "one", LASTS) == HeldLease("x", "one", 3)


def test_only_the_holder_renews_a_lease(cluster: Cluster, clock: Clock) -> None:
    one = acquire_lease(cluster, "x", "one", LASTS)
    assert one
    clock.move(seconds=9)
    assert renew_lease(cluster, one, LASTS)
    clock.move(seconds=9)
    assert acquire_lease(cluster, "x", "two", LASTS) is None
    clock.move(seconds=2)
    assert acquire_lease(cluster, "x", "two", LASTS)
    assert not renew_lease(cluster, one, LASTS)
    assert not renew_lease(cluster, HeldLease("x", "two", 1), LASTS)


def test_a_dead_holder_is_not_waited_for(cluster: Cluster) -> None:
    acquire_lease(cluster, "x", "one", LASTS)
    assert acquire_lease(cluster, "x", "two", LASTS, is_dead=lambda holder: holder == "one") == HeldLease(
        "x", "two", 2
    )
