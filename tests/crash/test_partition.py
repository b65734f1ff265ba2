"""F10 to F12 with agents whose network is really cut: silence is unknown first, lost later, and never two truths."""

import os
from collections.abc import Iterator

import pytest

from tests.crash.installation import Ground
from tests.crash.invariants.checker import attempts_once, ends, events, gangs, holdings, quotas, units_once
from tests.crash.partition import Cloud, a_cloud
from tests.crash.sweep import look

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")


@pytest.fixture
def cloud(sqlite_ground: Ground) -> Iterator[Cloud]:
    with a_cloud(sqlite_ground) as cloud:
        yield cloud


def attempts(cloud: Cloud) -> list[tuple[int, str, str | None]]:
    """(number, state, end) of the one job's attempts."""
    return [(each["number"], each["state"], each["end_code"]) for each in cloud.rows("attempts")]


def node_of(cloud: Cloud, number: int) -> str:
    names = {node["id"]: node["name"] for node in cloud.rows("nodes")}
    return next(names[each["node_id"]] for each in cloud.rows("attempts") if each["number"] == number)


def is_running(cloud: Cloud, number: int) -> bool:
    return any(each[:2] == (number, "running") for each in attempts(cloud))


def has_finished(cloud: Cloud) -> bool:
    return [job["state"] for job in cloud.rows("jobs")] == ["finished"]


def check(cloud: Cloud) -> None:
    """Old and new attempt may run at the same time where nobody can reach the old one; the rows may not."""
    seen = look(cloud.ground)
    checks = (units_once, quotas, gangs, attempts_once, ends, events, holdings)
    assert [sentence for each in checks for sentence in each(seen)] == []


def wait_for_silence(cloud: Cloud, seconds: float) -> None:
    """Of the cluster's time."""
    began = cloud.ground.world.now()
    cloud.wait(lambda: cloud.ground.world.now() - began > seconds, "time passes")


@pytest.mark.long
def test_a_short_partition_changes_nothing(cloud: Cloud) -> None:
    cloud.submit("steady", 2)
    cloud.wait(lambda: is_running(cloud, 1), "the job runs")
    node = node_of(cloud, 1)
    cloud.cut(node)
    wait_for_silence(cloud, 30)
    assert attempts(cloud) == [(1, "running", None)]
    cloud.heal(node)
    cloud.wait(lambda: has_finished(cloud), "the job has finished")
    assert attempts(cloud) == [(1, "ended", "exit.finished")]
    check(cloud)


def test_after_a_long_partition_the_old_attempt_is_fenced_and_its_late_end_counts_for_nothing(
    cloud: Cloud,
) -> None:
    cloud.submit("steady", 2)
    cloud.wait(lambda: is_running(cloud, 1), "the job runs")
    node = node_of(cloud, 1)
    cloud.cut(node)
    cloud.wait(lambda: is_running(cloud, 2), "another attempt runs elsewhere")
    assert attempts(cloud)[0] == (1, "ended", "interrupted.node_lost")
    assert node_of(cloud, 2) != node
    cloud.heal(node)
    cloud.wait(lambda: ended(cloud, 1), "the old program is ended on the healed node")
    cloud.wait(lambda: has_finished(cloud), "the job has finished")
    assert attempts(cloud) == [(1, "ended", "interrupted.node_lost"), (2, "ended", "exit.finished")]
    check(cloud)


def ended(cloud: Cloud, attempt: int) -> bool:
    return any(told["event"] == "ends" and told["attempt"] == attempt for told in cloud.ground.journal.read())


def test_a_node_that_starts_anew_loses_its_attempts_at_once(cloud: Cloud) -> None:
    cloud.submit("steady", 2)
    cloud.wait(lambda: is_running(cloud, 1), "the job runs")
    node = node_of(cloud, 1)
    cloud.kill(node)
    cloud.ground.world.reboot(node)
    cloud.start_agent(node)
    cloud.wait(lambda: is_running(cloud, 2), "another attempt runs", 10)
    assert attempts(cloud)[0] == (1, "ended", "interrupted.node_rebooted")
    cloud.wait(lambda: has_finished(cloud), "the job has finished")
    check(cloud)


@pytest.mark.long
def test_a_gang_that_loses_a_node_gives_all_its_units_back_once(cloud: Cloud) -> None:
    """Three units on two nodes; with one node off it cannot begin again before that one is back."""
    cloud.submit("steady", 3)
    cloud.wait(lambda: is_running(cloud, 1), "the gang runs on both nodes")
    cloud.kill("node-b")
    cloud.ground.world.power_off("node-b")
    cloud.wait(lambda: attempts(cloud)[0][1] == "ended", "the attempt is given up")
    assert attempts(cloud) == [(1, "ended", "interrupted.node_lost")]
    cloud.ground.world.power_on("node-b")
    cloud.start_agent("node-b")
    cloud.wait(lambda: is_running(cloud, 2), "the gang runs again")
    cloud.wait(lambda: has_finished(cloud), "the job has finished")
    check(cloud)
