"""Lists the alerts about backups and about messages that do not arrive, for administrators."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial

from sqlalchemy import exists, true

from cluster.domain.alerts import Alert, AlertDetail, AlertTopic, AlertUrgency
from cluster.domain.states import OperationState
from cluster.services.alerts import outbox
from cluster.services.alerts.alert_counts import MAX_PER_KIND, AlertSource
from cluster.services.backups import manifests
from cluster.services.context import Cluster


def upkeep_sources(cluster: Cluster) -> Iterator[AlertSource]:
    yield AlertSource(true, partial(backup_alerts, cluster))
    yield AlertSource(
        lambda: exists().where(outbox.has_failed_lately(cluster.clock())), partial(delivery_alerts, cluster)
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
