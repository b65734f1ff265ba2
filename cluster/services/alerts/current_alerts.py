"""Lists the alerts of this moment: for the pages of the person who asks, and each minute for mails and webhooks."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, select, true

from cluster.domain.alerts import (
    DISK_FULL_SHARE,
    ENDS_SOON_DAYS,
    STUCK_WAITING_CODES,
    URGENCY_ORDER,
    Alert,
    AlertDetail,
    AlertTopic,
    AlertUrgency,
)
from cluster.domain.nodes.node_facts import disk_used_share
from cluster.domain.people.actor import Actor
from cluster.domain.states import (
    DatasetState,
    EnvironmentState,
    JobState,
    NodeState,
    OperationState,
    UnitState,
    WorkspaceState,
)
from cluster.domain.workspace_terms import days_left, workspace_state
from cluster.services.alerts import outbox
from cluster.services.alerts.kubernetes_alerts import certificate_alerts, kubernetes_alerts
from cluster.services.backups import manifests
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.kubernetes.status import KUBERNETES_STATUS_FACT
from cluster.services.nodes import executor_outage
from cluster.services.nodes import queries as nodes
from cluster.services.nodes.queries import NodeView
from cluster.services.operations import queries
from cluster.services.storage import disk_space
from cluster.services.workspaces.queries import SUMMARY_COLUMNS, WorkspaceSummary
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Job
from cluster.store.nodes import offered_unit_kind
from cluster.store.workspaces import Workspace

MAX_PER_KIND = 3
"""Of things of one kind that may be many."""

OUTAGE_FACTS = (executor_outage.EXECUTOR_OUTAGE_FACT, disk_space.DISK_SHORTAGE_FACT)


@dataclass(frozen=True)
class AlertSource:
    """Alerts of one kind: `is_present` is the SQL condition without which there are none."""

    is_present: ColumnElement[bool]
    read: Callable[[], Iterable[Alert]]


def list_alerts(cluster: Cluster, actor: Actor) -> list[Alert]:
    """Lists the alerts that this person can act on, the most urgent first.

    Every page shows their number: one statement says which kinds there are, and only these are read.
    """
    sources = [*common_sources(cluster, actor), *administrator_sources(cluster, actor)]
    with cluster.store.read() as session:
        present = session.execute(select(*(source.is_present for source in sources))).one()
    found = [
        alert
        for source, is_present in zip(sources, present, strict=True)
        if is_present
        for alert in source.read()
    ]
    return sorted(found, key=lambda alert: URGENCY_ORDER.index(alert.urgency))


def common_sources(cluster: Cluster, actor: Actor) -> Iterator[AlertSource]:
    yield AlertSource(stuck_jobs(actor).exists(), partial(stuck_job_alerts, cluster, actor))
    yield AlertSource(
        environments.default_environment().where(Environment.state == EnvironmentState.FAILED).exists(),
        partial(environment_alerts, cluster),
    )
    yield AlertSource(
        queries.interrupted_operations(actor).exists(), partial(interrupted_operation_alerts, cluster, actor)
    )
    yield AlertSource(failed_datasets(actor).exists(), partial(failed_dataset_alerts, cluster, actor))
    yield AlertSource(ending_workspaces(cluster, actor).exists(), partial(ending_term_alerts, cluster, actor))


def administrator_sources(cluster: Cluster, actor: Actor) -> Iterator[AlertSource]:
    if not actor.is_administrator:
        return
    yield AlertSource(
        exists().where(InstallationFact.name.in_(OUTAGE_FACTS)), partial(start_outage_alerts, cluster)
    )
    yield AlertSource(true(), partial(backup_alerts, cluster))
    yield AlertSource(
        exists().where(outbox.has_failed_lately(cluster.clock())), partial(delivery_alerts, cluster)
    )
    yield AlertSource(
        exists().where(nodes.is_troubled(cluster.clock())),
        partial(troubled_node_alerts, cluster, actor),
    )
    yield AlertSource(
        exists().where(InstallationFact.name == KUBERNETES_STATUS_FACT), partial(kubernetes_alerts, cluster)
    )


def stuck_jobs(actor: Actor) -> Select[*tuple[Any, ...]]:
    stuck = select(Job.id, Job.waiting_code, Job.waiting_data).where(
        Job.state == JobState.WAITING, Job.waiting_code.in_(STUCK_WAITING_CODES)
    )
    return stuck if actor.is_administrator else stuck.where(Job.user_id == actor.user_id)


def stuck_job_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields one alert per waiting job that needs an action of this person and not only time."""
    with cluster.store.read() as session:
        rows = session.execute(stuck_jobs(actor).order_by(Job.id).limit(MAX_PER_KIND)).all()
    for job_id, code, data in rows:
        yield Alert(
            AlertUrgency.WAITING, AlertTopic.JOB, "attention.job_stuck", job_id,
            {"job": f"job-{job_id}"}, (AlertDetail(code, data or {}),),
        )  # fmt: skip


def environment_alerts(cluster: Cluster) -> Iterator[Alert]:
    environment = environments.read_default_environment(cluster)
    if environment is not None and environment.state is EnvironmentState.FAILED:
        subject = environment.operation_id or 0
        details = (AlertDetail("attention.no_job_starts"),)
        yield Alert(
            AlertUrgency.FAILED,
            AlertTopic.ENVIRONMENT,
            "attention.environment_failed",
            subject,
            details=details,
        )


def start_outage_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for what stops every job from starting: an executor outage, a disk below its reserve."""
    with cluster.store.read() as session:
        asked = select(InstallationFact).where(InstallationFact.name.in_(OUTAGE_FACTS))
        noted = {fact.name: fact.value for fact in session.scalars(asked)}
    if executor_outage.EXECUTOR_OUTAGE_FACT in noted:
        yield executor_outage_alert(
            executor_outage.parse_executor_outage(noted[executor_outage.EXECUTOR_OUTAGE_FACT])
        )
    if disk_space.DISK_SHORTAGE_FACT in noted:
        yield disk_alert(disk_space.parse_disk_shortage(noted[disk_space.DISK_SHORTAGE_FACT]))


def executor_outage_alert(silence: executor_outage.ExecutorOutage) -> Alert:
    details = (AlertDetail("attention.nothing_starts_since", {"at": silence.since.isoformat()}),)
    return Alert(
        AlertUrgency.UNREACHABLE, AlertTopic.ENGINE, silence.code, data=dict(silence.data), details=details
    )


def disk_alert(shortage: disk_space.DiskShortage) -> Alert:
    volume = shortage.disk
    details = [AlertDetail("attention.disk_nothing_starts", {"at": shortage.since.isoformat()})]
    if shortage.largest_jobs:
        details.append(AlertDetail("attention.disk_filled_by", {"fillers": shortage.largest_jobs}))
    data = {"mount": volume.mount, "free": volume.free, "reserve": volume.reserve}
    return Alert(
        AlertUrgency.FAILED, AlertTopic.DISK, "attention.disk_short", volume.mount, data, tuple(details)
    )


def backup_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields alerts for backups that are too old, damaged, or failed last night; none where no nightly backup is
    configured."""
    if cluster.settings.backup_at is None:
        return
    standing = manifests.read_backup_status(cluster)
    if standing.is_too_old:
        proven = standing.last_verified
        last = (
            AlertDetail("attention.proven_last", {"at": proven.made_at.isoformat()})
            if proven
            else AlertDetail("attention.proven_never")
        )
        yield Alert(AlertUrgency.CAUTION, AlertTopic.BACKUPS, "attention.backup_too_old", details=(last,))
    for backup in standing.damaged[:MAX_PER_KIND]:
        data = {"name": backup.name, "problem": backup.problem and asdict(backup.problem)}
        yield Alert(AlertUrgency.BROKEN, AlertTopic.BACKUPS, "attention.backup_damaged", backup.name, data)
    failed = standing.failed
    if failed is not None and failed.state is OperationState.FAILED:
        why = failed.error_code or "operation.broken"
        code = "attention.nightly_failed"
        if why.startswith("audit."):
            code = "attention.audit_changed"
        elif why == "backup.not_copied":
            code = "attention.nightly_not_copied"
        details = (AlertDetail(why, failed.error_data or {}),)
        yield Alert(AlertUrgency.FAILED, AlertTopic.OPERATION, code, failed.id, details=details)


def delivery_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields an alert per channel whose deliveries fail; it is never sent over that channel."""
    for channel, error in outbox.read_channel_errors(cluster).items():
        data = {"channel": channel.value, "error": error}
        yield Alert(AlertUrgency.CAUTION, AlertTopic.TELLING, "attention.not_told", channel.value, data)


def troubled_node_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    troubled = nodes.list_troubled_nodes(cluster, actor)
    yield from node_alerts(troubled)
    yield from certificate_alerts(troubled, cluster.clock())


def node_alerts(troubled: Collection[NodeView]) -> Iterator[Alert]:
    for node in troubled:
        if node.state in (NodeState.UNREACHABLE, NodeState.LOST):
            is_lost = node.state is NodeState.LOST
            code = "attention.node_given_up" if is_lost else "attention.node_silent"
            yield build_node_alert(
                node, AlertUrgency.UNREACHABLE, code, details=tuple(last_known_details(node))
            )
        broken = sum(unit.unit.state is UnitState.BROKEN for unit in node.units)
        if broken:
            data = {"broken": broken, "all": len(node.units), "kind": node.kind.value}
            yield build_node_alert(node, AlertUrgency.BROKEN, "attention.units_broken", data)
        share = disk_used_share(node.facts)
        if share is not None and share > DISK_FULL_SHARE:
            yield build_node_alert(node, AlertUrgency.CAUTION, "attention.disk_full", {"share": share})


def build_node_alert(
    node: NodeView,
    urgency: AlertUrgency,
    code: str,
    data: Mapping[str, Any] | None = None,
    details: tuple[AlertDetail, ...] = (),
) -> Alert:
    return Alert(urgency, AlertTopic.NODE, code, node.id, {"node": node.name, **(data or {})}, details)


def last_known_details(node: NodeView) -> Iterator[AlertDetail]:
    if node.heartbeat_at:
        yield AlertDetail("attention.last_signal", {"at": node.heartbeat_at.isoformat()})
    if node.job_ids:
        yield AlertDetail("attention.booked_there", {"jobs": [f"job-{job}" for job in node.job_ids]})


def interrupted_operation_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for interrupted operations that this person may retry."""
    for operation in queries.list_interrupted_operations(cluster, actor, MAX_PER_KIND):
        details = (AlertDetail(operation.error_code or "operation.broken", operation.error_data or {}),)
        yield Alert(
            AlertUrgency.INTERRUPTED, AlertTopic.OPERATION, "attention.operation_given_up", operation.id,
            {"operation": operation.kind}, details,
        )  # fmt: skip


def failed_datasets(actor: Actor) -> Select[*tuple[Any, ...]]:
    return select(Dataset.id, Dataset.name, Dataset.error_code, Dataset.error_data).where(
        Dataset.state == DatasetState.FAILED,
        Dataset.created_by == actor.user_id,
        Dataset.deleted_at.is_(None),
    )


def failed_dataset_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for this person's datasets whose import failed."""
    with cluster.store.read() as session:
        rows = session.execute(failed_datasets(actor).limit(MAX_PER_KIND)).all()
    for dataset_id, name, code, data in rows:
        why = (AlertDetail(code, data or {}),) if code else ()
        yield Alert(
            AlertUrgency.FAILED,
            AlertTopic.DATASET,
            "attention.dataset_failed",
            dataset_id,
            {"name": name},
            why,
        )


def ending_workspaces(cluster: Cluster, actor: Actor) -> Select[*tuple[Any, ...]]:
    """A day more on both sides than alerts are about: the installation's zone decides which day it is."""
    today = cluster.clock().date()
    last_day = today + timedelta(days=ENDS_SOON_DAYS + 1)
    ending = select(*SUMMARY_COLUMNS).where(Workspace.ends_on.between(today - timedelta(days=1), last_day))
    return ending if actor.is_administrator else ending.where(Workspace.manager_id == actor.user_id)


def ending_term_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for workspaces whose term ends soon, to their manager and to administrators."""
    with cluster.store.read() as session:
        rows = session.execute(ending_workspaces(cluster, actor).order_by(Workspace.name)).all()
        kind = offered_unit_kind(session).value
    own = [WorkspaceSummary(*row) for row in rows]
    ending = [
        (workspace, left) for workspace in own if (left := days_left_if_few(cluster, workspace)) is not None
    ]
    for workspace, left in ending:
        code = "attention.term_ends" if left else "attention.term_ends_today"
        details = (AlertDetail("attention.units_held", {"units": workspace.units, "kind": kind}),)
        data = {"name": workspace.name, "days": left}
        yield Alert(AlertUrgency.CAUTION, AlertTopic.WORKSPACE, code, workspace.id, data, details)


def days_left_if_few(cluster: Cluster, workspace: WorkspaceSummary) -> int | None:
    """Days left of an active workspace where they are few."""
    now, zone = cluster.clock(), cluster.settings.zone
    if workspace_state(workspace, now, zone) is not WorkspaceState.ACTIVE:
        return None
    left = days_left(workspace, now, zone)
    return left if left <= ENDS_SOON_DAYS else None
