"""A lease lets one process at a time act as the scheduler; its fence refuses the writes of an earlier holder."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from cluster.domain.errors import Conflict
from cluster.services.context import Cluster
from cluster.store.leases import Lease

SCHEDULER_LEASE = "scheduler"
SCHEDULER_LEASE_DURATION = timedelta(seconds=10)
FENCE_OF_HOLDER = (
    select(Lease.fence)
    .where(Lease.name == bindparam("name"), Lease.holder == bindparam("holder"))
    .with_for_update()
)
"""The statement is built once, because every transaction of the scheduler begins with it."""


class LeaseLost(Conflict):
    """Another process holds the lease now: the caller must stop and change nothing more."""


@dataclass(frozen=True)
class HeldLease:
    name: str
    holder: str
    fence: int


def acquire_lease(
    cluster: Cluster,
    name: str,
    holder: str,
    lasts: timedelta,
    is_dead: Callable[[str], bool] = lambda holder: False,
) -> HeldLease | None:
    """Acquires or renews the lease; returns None while another holder's lease has not expired.

    `is_dead` says whether the other holder is known to have ended: then its lease need not expire first.
    """
    with cluster.store.read() as session:
        seen = session.get(Lease, name)
    gone = seen is not None and seen.holder != holder and is_dead(seen.holder)
    now = cluster.clock()
    with cluster.store.write(lock=f"lease {name}") as session:
        lease = session.get(Lease, name)
        if lease is None:
            session.add(Lease(name=name, holder=holder, fence=1, expires_at=now + lasts))
            return HeldLease(name, holder, 1)
        if lease.holder != holder:
            is_the_dead_one = gone and seen is not None and lease.fence == seen.fence
            if lease.expires_at > now and not is_the_dead_one:
                return None
            lease.holder = holder
            lease.fence += 1
        lease.expires_at = now + lasts
        return HeldLease(name, holder, lease.fence)


def renew_lease(cluster: Cluster, held: HeldLease, lasts: timedelta) -> bool:
    """Returns whether the lease is still held. It takes one statement, and acquiring takes three."""
    with cluster.store.write() as session:
        renewed = session.execute(
            update(Lease)
            .where(Lease.name == held.name, Lease.holder == held.holder, Lease.fence == held.fence)
            .values(expires_at=cluster.clock() + lasts)
            .returning(Lease.fence)
        )
        return renewed.first() is not None


def check_lease(session: Session, held: HeldLease) -> None:
    """Called first in every transaction that only the holder may make. Raises LeaseLost.

    The lease's time does not count: until another process has taken the lease, the last holder's changes do no harm.
    """
    found = session.scalar(FENCE_OF_HOLDER, {"name": held.name, "holder": held.holder})
    if found != held.fence:
        raise LeaseLost("lease.lost", name=held.name, holder=held.holder)


def release_lease(cluster: Cluster, held: HeldLease) -> None:
    """Releases the lease, so that the next holder need not wait. A lease that was lost meanwhile stays as it is."""
    with cluster.store.write() as session:
        session.execute(
            update(Lease)
            .where(Lease.name == held.name, Lease.holder == held.holder, Lease.fence == held.fence)
            .values(expires_at=cluster.clock())
        )
