"""A run knows its hosts, locks, number and who asked, with one target or several, with a row or a file."""

import pytest
from sqlalchemy.exc import IntegrityError

from cluster.services.context import Cluster
from cluster.store.repairs import RepairLock, RepairRun
from tests.builders import a_repair_run, add, an_administrator

SEVERAL = [["node-2", "gpu02"], ["node-1", "gpu01"]]


def read(cluster: Cluster, run: RepairRun) -> RepairRun:
    with cluster.store.read() as session:
        found = session.get_one(RepairRun, run.id)
        assert found.requester.name
        return found


def test_a_run_of_several_targets_locks_them_in_one_order(cluster: Cluster) -> None:
    chief = an_administrator(cluster)
    several = read(
        cluster, a_repair_run(cluster, chief, target="node-2", host="gpu02, gpu01", targets=SEVERAL)
    )
    assert (several.hosts, several.locks) == (["gpu02", "gpu01"], ["node-1", "node-2"])
    one = read(cluster, a_repair_run(cluster, chief))
    assert (one.hosts, one.locks) == (["lab-a"], ["master"])


def test_a_run_is_named_after_the_person_at_the_console_and_after_its_offline_record(
    cluster: Cluster,
) -> None:
    chief = an_administrator(cluster, "hjkim")
    online = read(cluster, a_repair_run(cluster, chief))
    assert (online.who, online.number) == ("hjkim", str(online.id))
    with cluster.store.write() as session:
        session.get_one(RepairLock, 1).released_at = cluster.clock()
    offline = read(
        cluster, a_repair_run(cluster, chief, console_user="root", offline_record="1234567890123456")
    )
    assert (offline.who, offline.number) == ("root", "1234567890123456")


def test_a_target_belongs_to_one_run_until_it_is_released(cluster: Cluster) -> None:
    chief = an_administrator(cluster)
    first, second = (a_repair_run(cluster, chief, ended_at=cluster.clock()) for _ in range(2))
    add(cluster, RepairLock(run_id=first.id, target="master"))
    with pytest.raises(IntegrityError):
        add(cluster, RepairLock(run_id=second.id, target="master"))
    with cluster.store.write() as session:
        session.get_one(RepairLock, 1).released_at = cluster.clock()
    add(cluster, RepairLock(run_id=second.id, target="master"))
