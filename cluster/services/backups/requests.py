"""Requests a backup once each night, and whenever an administrator asks."""

from datetime import datetime

from sqlalchemy import select

from cluster.domain.backups.schedule import due_night, last_due
from cluster.domain.errors import Conflict
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator, require_person
from cluster.domain.states import OperationKind, OperationState
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.services.operations.lifecycle import enqueue_operation, request_operation
from cluster.services.people.users import service_actor
from cluster.store.audit import add_audit_entry
from cluster.store.facts import InstallationFact
from cluster.store.operations import Operation

NIGHTLY_FACT = "backup_nightly"


OPEN_STATES = (OperationState.REQUESTED, OperationState.RUNNING)


def request_nightly_backup(cluster: Cluster, held: HeldLease) -> Operation | None:
    """Requests the nightly backup once per night; returns None if it was requested already. Raises LeaseLost.

    One backup replaces all missed nights. A new installation makes no backup before its first night.
    """
    settings, now = cluster.settings, cluster.clock()
    if settings.backup_at is None:
        return None
    with cluster.store.read() as session:
        known = session.get(InstallationFact, NIGHTLY_FACT)
    night = last_due(now, settings.zone, settings.backup_at)
    if known is not None:
        asked_for = datetime.fromisoformat(known.value["night"])
        if due_night(now, settings.zone, settings.backup_at, asked_for) is None:
            return None
    operation = None
    actor = service_actor(cluster)
    with cluster.store.write() as session:
        check_lease(session, held)
        session.merge(InstallationFact(name=NIGHTLY_FACT, value={"night": night.isoformat()}))
        if known is not None:
            operation = request_operation(session, OperationKind.BACKUP, None, actor, now)
            add_audit_entry(session, now, actor, "backup.asked", operation.id)
    if operation is not None:
        enqueue_operation(cluster, operation)
    return operation


def request_backup(cluster: Cluster, actor: Actor) -> Operation:
    """Requests a backup, which is made and verified like a nightly one.

    Raises Forbidden, and Conflict if one is running.
    """
    require_administrator(actor)
    require_person(actor)
    now = cluster.clock()
    under_way = select(Operation.id).where(
        Operation.kind == OperationKind.BACKUP, Operation.state.in_(OPEN_STATES)
    )
    with cluster.store.write(lock="backup") as session:
        number = session.scalar(under_way.limit(1))
        if number is not None:
            raise Conflict("backup.under_way", operation=number)
        operation = request_operation(session, OperationKind.BACKUP, None, actor, now)
        add_audit_entry(session, now, actor, "backup.asked", operation.id)
    enqueue_operation(cluster, operation)
    return operation
