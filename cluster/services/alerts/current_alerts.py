"""Lists the alerts of this moment: for the pages of the person who asks, and each minute for mails and webhooks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Select, exists, select, true

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
from cluster.services.alerts.alert_counts import AlertCounts, AlertSource, capped_count
from cluster.services.alerts.kubernetes_alerts import certificate_alerts, kubernetes_alerts
from cluster.services.backups import manifests
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.kubernetes.status import KUBERNETES_STATUS_FACT
from cluster.services.leases import SCHEDULER_LEASE, SCHEDULER_LEASE_DURATION
from cluster.services.nodes import executor_outage, gpu_checks
from cluster.services.nodes.queries import NodeSummary
from cluster.services.nodes.summaries import is_troubled, list_troubled_nodes
from cluster.services.operations import queries
from cluster.services.storage import disk_space
from cluster.services.workspaces.queries import SUMMARY_COLUMNS, WorkspaceSummary
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.jobs import IS_FAILED_UNSEEN, Job
from cluster.store.leases import Lease
from cluster.store.nodes import offered_unit_kind
from cluster.store.workspaces import Workspace

MAX_PER_KIND = 3
"""The number of alerts of one kind that are named. The others are counted."""
FAILED_JOBS_FOR = timedelta(days=7)
"""A failed job that nobody has dismissed is no alert any more after this time."""

SILENT_AFTER_LEASE = timedelta(seconds=5)
"""A scheduler that is started again takes the lease within this time."""
OUTAGE_FACTS = (executor_outage.EXECUTOR_OUTAGE_FACT, disk_space.DISK_SHORTAGE_FACT)


@dataclass(frozen=True)
class CurrentAlerts:
    """The alerts of this moment, the most urgent first. `unnamed` says by code how many more there are of a kind."""

    alerts: Sequence[Alert]
    unnamed: Mapping[str, int]

    @property
    def count(self) -> int:
        return len(self.alerts) + sum(self.unnamed.values())


def list_alerts(cluster: Cluster, actor: Actor) -> list[Alert]:
    """The alerts that this person can act on, the most urgent first, of each kind the first ones."""
    return list(read_current_alerts(cluster, actor).alerts)


def read_current_alerts(cluster: Cluster, actor: Actor) -> CurrentAlerts:
    """The alerts that this person can act on.

    Every page shows their number. One statement counts the kinds, and only those that exist are read.
    """
    sources = list_sources(cluster, actor)
    with cluster.store.read_columns() as connection:
        counts = ALERT_COUNTS.execute(connection, cluster, actor).one()
    found: list[Alert] = []
    unnamed: dict[str, int] = {}
    for source, count in zip(sources, counts, strict=True):
        alerts = list(source.read()) if count else []
        found += alerts
        if alerts and int(count) > len(alerts):
            unnamed[alerts[-1].code] = int(count) - len(alerts)
    found.sort(key=lambda alert: URGENCY_ORDER.index(alert.urgency))
    return CurrentAlerts(found, unnamed)


def list_sources(cluster: Cluster, actor: Actor) -> list[AlertSource]:
    return [*common_sources(cluster, actor), *administrator_sources(cluster, actor)]


ALERT_COUNTS = AlertCounts(list_sources)


def common_sources(cluster: Cluster, actor: Actor) -> Iterator[AlertSource]:
    yield AlertSource(lambda: silent_scheduler(cluster).exists(), partial(silent_scheduler_alerts, cluster))
    yield AlertSource(lambda: capped_count(stuck_jobs(actor)), partial(stuck_job_alerts, cluster, actor))
    yield AlertSource(
        lambda: capped_count(failed_jobs(cluster, actor)), partial(failed_job_alerts, cluster, actor)
    )
    yield AlertSource(
        lambda: environments.DEFAULT_ENVIRONMENT.where(Environment.state == EnvironmentState.FAILED).exists(),
        partial(environment_alerts, cluster),
    )
    yield AlertSource(
        lambda: capped_count(queries.interrupted_operations(actor)),
        partial(interrupted_operation_alerts, cluster, actor),
    )
    yield AlertSource(
        lambda: capped_count(failed_datasets(actor)), partial(failed_dataset_alerts, cluster, actor)
    )
    yield AlertSource(
        lambda: ending_workspaces(cluster, actor).exists(), partial(ending_term_alerts, cluster, actor)
    )


def administrator_sources(cluster: Cluster, actor: Actor) -> Iterator[AlertSource]:
    if not actor.is_administrator:
        return
    yield AlertSource(
        lambda: exists().where(InstallationFact.name.in_(OUTAGE_FACTS)), partial(start_outage_alerts, cluster)
    )
    yield AlertSource(true, partial(backup_alerts, cluster))
    yield AlertSource(
        lambda: exists().where(outbox.has_failed_lately(cluster.clock())), partial(delivery_alerts, cluster)
    )
    yield AlertSource(
        lambda: exists().where(is_troubled(cluster.clock())), partial(troubled_node_alerts, cluster)
    )
    yield AlertSource(
        lambda: exists().where(gpu_checks.has_failed_lately(cluster.clock())),
        partial(gpu_check_alerts, cluster),
    )
    yield AlertSource(
        lambda: exists().where(InstallationFact.name == KUBERNETES_STATUS_FACT),
        partial(kubernetes_alerts, cluster),
    )


def silent_scheduler(cluster: Cluster) -> Select[datetime]:
    """Selects the time at which the scheduler's lease expired; a lease is renewed every few seconds."""
    return select(Lease.expires_at).where(
        Lease.name == SCHEDULER_LEASE, Lease.expires_at < cluster.clock() - SILENT_AFTER_LEASE
    )


def silent_scheduler_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields one for everybody: no job starts, and what pages say of the queue is from then."""
    with cluster.store.read() as session:
        expired_at = session.scalar(silent_scheduler(cluster))
    if expired_at is not None:
        at = (expired_at - SCHEDULER_LEASE_DURATION).isoformat()
        details = (AlertDetail("attention.queue_as_of", {"at": at}),)
        yield Alert(
            AlertUrgency.UNREACHABLE, AlertTopic.SCHEDULER, "attention.scheduler_silent", details=details
        )


def stuck_jobs(actor: Actor) -> Select[*tuple[Any, ...]]:
    stuck = select(Job.id, Job.waiting_code, Job.waiting_data).where(
        Job.state == JobState.WAITING, Job.waiting_code.in_(STUCK_WAITING_CODES)
    )
    return stuck if actor.is_administrator else stuck.where(Job.user_id == actor.user_id)


def stuck_job_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for waiting jobs that need an action of this person and not only time, the oldest first."""
    with cluster.store.read() as session:
        rows = session.execute(stuck_jobs(actor).order_by(Job.id).limit(MAX_PER_KIND)).all()
    for job_id, code, data in rows:
        yield Alert(
            AlertUrgency.WAITING, AlertTopic.JOB, "attention.job_stuck", job_id,
            {"job": f"job-{job_id}"}, (AlertDetail(code, data or {}),),
        )  # fmt: skip


def failed_jobs(cluster: Cluster, actor: Actor) -> Select[*tuple[Any, ...]]:
    return select(Job.id, Job.name, Job.end_code, Job.end_data, Job.ended_at).where(
        Job.user_id == actor.user_id, IS_FAILED_UNSEEN, Job.ended_at > cluster.clock() - FAILED_JOBS_FOR
    )


def failed_job_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for this person's jobs that failed and that they have not dismissed, the newest first."""
    query = failed_jobs(cluster, actor).order_by(Job.ended_at.desc(), Job.id.desc()).limit(MAX_PER_KIND)
    with cluster.store.read() as session:
        rows = session.execute(query).all()
    for job_id, name, code, data, ended_at in rows:
        details = (AlertDetail(code, data or {}),) if code else ()
        yield Alert(
            AlertUrgency.FAILED, AlertTopic.JOB, "attention.job_failed", job_id,
            {"job": f"job-{job_id}", "name": name, "at": ended_at.isoformat()}, details,
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
    """Yields alerts for backups that are too old, damaged, or failed last night; none if no nightly backup is
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


def troubled_node_alerts(cluster: Cluster) -> Iterator[Alert]:
    troubled = list_troubled_nodes(cluster)
    yield from node_alerts(troubled)
    yield from certificate_alerts(troubled, cluster.clock())


def node_alerts(troubled: Collection[NodeSummary]) -> Iterator[Alert]:
    for node in troubled:
        if node.state in (NodeState.UNREACHABLE, NodeState.LOST):
            is_lost = node.state is NodeState.LOST
            code = "attention.node_given_up" if is_lost else "attention.node_silent"
            yield build_node_alert(
                node, AlertUrgency.UNREACHABLE, code, details=tuple(last_known_details(node))
            )
        broken = sum(group.units for group in node.groups if group.state is UnitState.BROKEN)
        if broken:
            data = {"broken": broken, "all": node.unit_count, "kind": node.kind.value}
            yield build_node_alert(node, AlertUrgency.BROKEN, "attention.units_broken", data)
        share = disk_used_share(node.facts)
        if share is not None and share > DISK_FULL_SHARE:
            yield build_node_alert(node, AlertUrgency.CAUTION, "attention.disk_full", {"share": share})


def gpu_check_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields an alert for each of the newest checks that did not end well; a later good one takes it away."""
    failed = [check for check in gpu_checks.list_newest_checks(cluster) if not check.is_ok]
    for check in failed[:MAX_PER_KIND]:
        details = (AlertDetail("attention.check_said", {"line": check.lines[0]}),) if check.lines else ()
        yield Alert(
            AlertUrgency.BROKEN, AlertTopic.NODE, "attention.gpu_check_failed", check.node_id,
            {"node": check.node, "at": check.ended_at.isoformat()}, details,
        )  # fmt: skip


def build_node_alert(
    node: NodeSummary,
    urgency: AlertUrgency,
    code: str,
    data: Mapping[str, Any] | None = None,
    details: tuple[AlertDetail, ...] = (),
) -> Alert:
    return Alert(urgency, AlertTopic.NODE, code, node.id, {"node": node.name, **(data or {})}, details)


def last_known_details(node: NodeSummary) -> Iterator[AlertDetail]:
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
        Dataset.failure_dismissed_at.is_(None),
    )


def failed_dataset_alerts(cluster: Cluster, actor: Actor) -> Iterator[Alert]:
    """Yields alerts for this person's datasets whose import failed, the newest first."""
    query = failed_datasets(actor).order_by(Dataset.id.desc()).limit(MAX_PER_KIND)
    with cluster.store.read() as session:
        rows = session.execute(query).all()
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
    """Selects one day more on both sides than necessary, because the installation's zone decides which day it is."""
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
    """The days left of an active workspace. None if they are many."""
    now, zone = cluster.clock(), cluster.settings.zone
    if workspace_state(workspace, now, zone) is not WorkspaceState.ACTIVE:
        return None
    left = days_left(workspace, now, zone)
    return left if left <= ENDS_SOON_DAYS else None
