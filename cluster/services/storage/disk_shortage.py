"""The shortage of disk space that the scheduler has written down, and the jobs with the largest files."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from cluster.domain.queue.reasons import DiskBelowReserve
from cluster.domain.storage.disk_reserve import (
    DiskLevel,
    MonitoredDisk,
)
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.store.facts import InstallationFact, read_fact
from cluster.store.jobs import Job

DISK_SHORTAGE_FACT = "disk_shortage"
MAX_LARGEST_JOBS = 3
"""The number of jobs that are named when a disk is short."""


@dataclass(frozen=True)
class DiskShortage:
    """The disk with the least space, the beginning of the shortage, and the jobs with the
    largest files: (id, bytes).
    """

    disk: MonitoredDisk
    since: datetime
    largest_jobs: Sequence[Sequence[int]] = ()

    @property
    def reason(self) -> DiskBelowReserve:
        fillers = [list(filler) for filler in self.largest_jobs]
        return DiskBelowReserve(self.disk.mount, self.disk.free, self.disk.reserve, fillers)


def read_disk_shortage(cluster: Cluster) -> DiskShortage | None:
    """The shortage as the scheduler last recorded it. None while all disks have space."""
    with cluster.store.read() as session:
        return load_disk_shortage(session)


def load_disk_shortage(session: Session) -> DiskShortage | None:
    return read_fact(session, DISK_SHORTAGE_FACT, parse_disk_shortage)


def parse_disk_shortage(said: Mapping[str, Any]) -> DiskShortage:
    volume = MonitoredDisk(**{**said["volume"], "level": DiskLevel(said["volume"]["level"])})
    return DiskShortage(volume, datetime.fromisoformat(said["since"]), said["fillers"])


def record_disk_shortage(
    cluster: Cluster, held: HeldLease, volume: MonitoredDisk | None, running: Mapping[int, int] | None = None
) -> None:
    """Records the shortage that pages, waiting reasons and mails show. `running` has the file sizes of running jobs.
    Raises LeaseLost."""
    with cluster.store.write() as session:
        check_lease(session, held)
        known = load_disk_shortage(session)
        if volume is None:
            session.execute(delete(InstallationFact).where(InstallationFact.name == DISK_SHORTAGE_FACT))
        else:
            since = known.since if known and known.disk.mount == volume.mount else cluster.clock()
            value = {
                "volume": asdict(volume),
                "since": since.isoformat(),
                "fillers": read_largest_jobs(session, running or {}),
            }
            session.merge(InstallationFact(name=DISK_SHORTAGE_FACT, value=value))
    cluster.events.publish("queue", 0)
    cluster.events.publish("nodes", 0)


def read_largest_jobs(session: Session, running: Mapping[int, int]) -> list[list[int]]:
    """The jobs with the largest files, whether they run or have ended."""
    query = (
        select(Job.id, Job.storage_bytes)
        .where(Job.storage_bytes > 0, Job.files_deleted_at.is_(None))
        .order_by(Job.storage_bytes.desc(), Job.id)
        .limit(MAX_LARGEST_JOBS)
    )
    sizes = {job_id: size for job_id, size in session.execute(query)}  # noqa: C416
    for job_id, size in running.items():
        sizes[job_id] = size + (sizes.get(job_id) or 0)
    largest = sorted(sizes.items(), key=lambda pair: (-(pair[1] or 0), pair[0]))[:MAX_LARGEST_JOBS]
    return [[job_id, size] for job_id, size in largest if size]
