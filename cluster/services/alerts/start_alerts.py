"""Lists the alerts about what keeps jobs from starting: a silent scheduler, the environment, an outage, a full disk."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Select, exists, select

from cluster.domain.alerts import Alert, AlertDetail, AlertTopic, AlertUrgency
from cluster.domain.states import EnvironmentState
from cluster.services.alerts.alert_counts import AlertSource
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.leases import SCHEDULER_LEASE, SCHEDULER_LEASE_DURATION
from cluster.services.nodes import executor_outage
from cluster.services.storage import disk_shortage
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from cluster.store.leases import Lease

SILENT_AFTER_LEASE = timedelta(seconds=5)
"""A scheduler that is started again takes the lease within this time."""
OUTAGE_FACTS = (executor_outage.EXECUTOR_OUTAGE_FACT, disk_shortage.DISK_SHORTAGE_FACT)


def scheduler_source(cluster: Cluster) -> AlertSource:
    return AlertSource(lambda: silent_scheduler(cluster).exists(), partial(silent_scheduler_alerts, cluster))


def environment_source(cluster: Cluster) -> AlertSource:
    return AlertSource(
        lambda: environments.DEFAULT_ENVIRONMENT.where(Environment.state == EnvironmentState.FAILED).exists(),
        partial(environment_alerts, cluster),
    )


def outage_source(cluster: Cluster) -> AlertSource:
    return AlertSource(
        lambda: exists().where(InstallationFact.name.in_(OUTAGE_FACTS)), partial(start_outage_alerts, cluster)
    )


def silent_scheduler(cluster: Cluster) -> Select[datetime]:
    """Selects the time at which the scheduler's lease expired; a lease is renewed every few seconds."""
    return select(Lease.expires_at).where(
        Lease.name == SCHEDULER_LEASE, Lease.expires_at < cluster.clock() - SILENT_AFTER_LEASE
    )


def silent_scheduler_alerts(cluster: Cluster) -> Iterator[Alert]:
    """Yields one alert for everybody: no job starts, and pages show the queue as it was at that time."""
    with cluster.store.read() as session:
        expired_at = session.scalar(silent_scheduler(cluster))
    if expired_at is not None:
        at = (expired_at - SCHEDULER_LEASE_DURATION).isoformat()
        details = (AlertDetail("attention.queue_as_of", {"at": at}),)
        yield Alert(
            AlertUrgency.UNREACHABLE, AlertTopic.SCHEDULER, "attention.scheduler_silent", details=details
        )


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
    if disk_shortage.DISK_SHORTAGE_FACT in noted:
        yield disk_alert(disk_shortage.parse_disk_shortage(noted[disk_shortage.DISK_SHORTAGE_FACT]))


def executor_outage_alert(silence: executor_outage.ExecutorOutage) -> Alert:
    details = (AlertDetail("attention.nothing_starts_since", {"at": silence.since.isoformat()}),)
    return Alert(
        AlertUrgency.UNREACHABLE, AlertTopic.ENGINE, silence.code, data=dict(silence.data), details=details
    )


def disk_alert(shortage: disk_shortage.DiskShortage) -> Alert:
    volume = shortage.disk
    details = [AlertDetail("attention.disk_nothing_starts", {"at": shortage.since.isoformat()})]
    if shortage.largest_jobs:
        details.append(AlertDetail("attention.disk_filled_by", {"fillers": shortage.largest_jobs}))
    data = {"mount": volume.mount, "free": volume.free, "reserve": volume.reserve}
    return Alert(
        AlertUrgency.FAILED, AlertTopic.DISK, "attention.disk_short", volume.mount, data, tuple(details)
    )
