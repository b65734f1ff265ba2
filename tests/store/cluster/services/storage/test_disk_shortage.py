"""A shortage is written down with its beginning and the jobs that have the largest files."""

from cluster.domain.states import JobState
from cluster.domain.storage.disk_reserve import DiskLevel, MonitoredDisk
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.storage.disk_shortage import read_disk_shortage, record_disk_shortage
from tests.builders import a_job, a_training, a_workspace
from tests.conftest import Clock

DISK = MonitoredDisk(mount="/data", free=10, whole=1000, reserve=100, level=DiskLevel.SHORT)


def test_a_shortage_keeps_its_beginning_and_names_the_largest_jobs(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    training = a_training(cluster, a_workspace(cluster))
    sizes = (5, 0, 40, 30, 20)
    jobs = [a_job(cluster, training, state=JobState.FINISHED, storage_bytes=size) for size in sizes]
    record_disk_shortage(cluster, held, DISK, {jobs[1].id: 35})
    began = clock()
    clock.move(seconds=5)
    record_disk_shortage(cluster, held, DISK)
    shortage = read_disk_shortage(cluster)
    assert shortage is not None and shortage.since == began and shortage.disk == DISK
    assert [list(pair) for pair in shortage.largest_jobs] == [[jobs[at].id, sizes[at]] for at in (2, 3, 4)]
    record_disk_shortage(cluster, held, None)
    assert read_disk_shortage(cluster) is None
