"""What needs a person at this moment: read for a page, and each minute for mails and webhooks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

from sqlalchemy import select

from cluster.domain.attention import (
    DISK_FULL_SHARE,
    ENDS_SOON_DAYS,
    ORDER,
    STUCK_CODES,
    Concern,
    Detail,
    Topic,
    Urgency,
)
from cluster.domain.people import Actor
from cluster.domain.states import (
    DatasetState,
    EnvironmentState,
    JobState,
    NodeState,
    OperationState,
    UnitState,
    WorkspaceState,
)
from cluster.domain.terms import days_left, workspace_state
from cluster.services import (
    backups,
    disks,
    environments,
    executor_silence,
    nodes,
    notices,
    operations,
    places,
)
from cluster.services.context import Cluster
from cluster.services.kubernetes_concerns import troubles_of_kubernetes
from cluster.services.nodes import NodeView
from cluster.services.places import Place
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job
from cluster.store.leases import Fact
from cluster.store.nodes import offered_kind

SHOWN = 3
"""Of things of one kind that may be many."""

Found = TypeVar("Found")


class Once(Protocol):
    """How a list is read that others on the same page read too."""

    def __call__(self, read: Callable[[Cluster, Actor], Found], /) -> Found: ...


def read_concerns(cluster: Cluster, actor: Actor, once: Once | None = None) -> list[Concern]:
    """What this person can do something about, the most urgent first."""

    def directly(read: Callable[[Cluster, Actor], Found]) -> Found:
        return read(cluster, actor)

    found = [*stuck_jobs(cluster, actor), *failed_environment(cluster)]
    found += failed_work(cluster, actor)
    found += ending_terms(cluster, actor, once or directly)
    if actor.is_administrator:
        found += [*nothing_starts(cluster), *doubtful_backups(cluster), *untold(cluster)]
        found += troubled_nodes(once or directly)
        found += troubles_of_kubernetes(cluster, (once or directly)(nodes.unit_map))
    return sorted(found, key=lambda concern: ORDER.index(concern.urgency))


def path_of(concern: Concern, is_administrator: bool = True) -> str:
    """The page of the way out; empty where there is none."""
    subject = concern.subject
    if concern.topic is Topic.ENVIRONMENT:
        return f"/operations/{subject}" if subject else ""
    if concern.topic is Topic.WORKSPACE:
        return f"/workspaces/{subject}/extend" if is_administrator else f"/workspaces/{subject}"
    return {
        Topic.JOB: f"/jobs/{subject}",
        Topic.OPERATION: f"/operations/{subject}",
        Topic.NODE: f"/nodes/{subject}",
        Topic.ENGINE: "/nodes",
        Topic.KUBERNETES: "/nodes",
        Topic.BACKUPS: "/repairs/backups",
        Topic.DISK: "/repairs/free-disk-space",
        Topic.DATASET: f"/datasets/{subject}",
        Topic.TELLING: "/profile",
    }[concern.topic]


def stuck_jobs(cluster: Cluster, actor: Actor) -> Iterator[Concern]:
    """Waiting jobs that this person can help, and for which waiting alone does not."""
    stuck = select(Job.id, Job.waiting_code, Job.waiting_data).where(
        Job.state == JobState.WAITING, Job.waiting_code.in_(STUCK_CODES)
    )
    if not actor.is_administrator:
        stuck = stuck.where(Job.user_id == actor.user_id)
    with cluster.store.read() as session:
        rows = session.execute(stuck.order_by(Job.id).limit(SHOWN)).all()
    for job_id, code, data in rows:
        yield Concern(
            Urgency.WAITING, Topic.JOB, "attention.job_stuck", job_id,
            {"job": f"job-{job_id}"}, (Detail(code, data or {}),),
        )  # fmt: skip


def failed_environment(cluster: Cluster) -> Iterator[Concern]:
    environment = environments.read_default_environment(cluster)
    if environment is not None and environment.state is EnvironmentState.FAILED:
        subject = environment.operation_id or 0
        details = (Detail("attention.no_job_starts"),)
        yield Concern(
            Urgency.FAILED, Topic.ENVIRONMENT, "attention.environment_failed", subject, details=details
        )


def nothing_starts(cluster: Cluster) -> Iterator[Concern]:
    """What starts jobs does not answer, or less is free of a disk than is kept for the database."""
    with cluster.store.read() as session:
        asked = select(Fact).where(Fact.name.in_((executor_silence.SILENT, disks.SHORTAGE)))
        noted = {fact.name: fact.value for fact in session.scalars(asked)}
    if executor_silence.SILENT in noted:
        yield silent_engine(executor_silence.parse_silence(noted[executor_silence.SILENT]))
    if disks.SHORTAGE in noted:
        yield short_disk(disks.parse_shortage(noted[disks.SHORTAGE]))


def silent_engine(silence: executor_silence.Silence) -> Concern:
    details = (Detail("attention.nothing_starts_since", {"at": silence.since.isoformat()}),)
    return Concern(Urgency.UNREACHABLE, Topic.ENGINE, silence.code, data=dict(silence.data), details=details)


def short_disk(shortage: disks.Shortage) -> Concern:
    volume = shortage.volume
    details = [Detail("attention.disk_nothing_starts", {"at": shortage.since.isoformat()})]
    if shortage.fillers:
        details.append(Detail("attention.disk_filled_by", {"fillers": shortage.fillers}))
    data = {"mount": volume.mount, "free": volume.free, "reserve": volume.reserve}
    return Concern(Urgency.FAILED, Topic.DISK, "attention.disk_short", volume.mount, data, tuple(details))


def doubtful_backups(cluster: Cluster) -> Iterator[Concern]:
    """Where this installation makes backups: too old, damaged, or not made last night."""
    if cluster.settings.backup_at is None:
        return
    standing = backups.read_standing(cluster)
    if standing.is_too_old:
        proven = standing.proven
        last = (
            Detail("attention.proven_last", {"at": proven.made_at.isoformat()})
            if proven
            else Detail("attention.proven_never")
        )
        yield Concern(Urgency.CAUTION, Topic.BACKUPS, "attention.backup_too_old", details=(last,))
    for backup in standing.damaged[:SHOWN]:
        data = {"name": backup.name, "problem": backup.problem and asdict(backup.problem)}
        yield Concern(Urgency.BROKEN, Topic.BACKUPS, "attention.backup_damaged", backup.name, data)
    failed = standing.failed
    if failed is not None and failed.state is OperationState.FAILED:
        why = failed.error_code or "operation.broken"
        code = "attention.nightly_failed"
        if why.startswith("audit."):
            code = "attention.audit_changed"
        elif why == "backup.not_copied":
            code = "attention.nightly_not_copied"
        details = (Detail(why, failed.error_data or {}),)
        yield Concern(Urgency.FAILED, Topic.OPERATION, code, failed.id, details=details)


def untold(cluster: Cluster) -> Iterator[Concern]:
    """Mails or calls that nobody takes: told here, and never by the way that does not work."""
    for channel, error in notices.read_troubles(cluster).items():
        data = {"channel": channel.value, "error": error}
        yield Concern(Urgency.CAUTION, Topic.TELLING, "attention.not_told", channel.value, data)


def troubled_nodes(once: Once) -> Iterator[Concern]:
    for node in once(nodes.unit_map):
        if node.state in (NodeState.UNREACHABLE, NodeState.LOST):
            is_lost = node.state is NodeState.LOST
            code = "attention.node_given_up" if is_lost else "attention.node_silent"
            yield of_node(node, Urgency.UNREACHABLE, code, details=tuple(last_known(node)))
        broken = sum(unit.unit.state is UnitState.BROKEN for unit in node.units)
        if broken:
            data = {"broken": broken, "all": len(node.units), "kind": node.kind.value}
            yield of_node(node, Urgency.BROKEN, "attention.units_broken", data)
        share = disk_share(node.facts)
        if share is not None and share > DISK_FULL_SHARE:
            yield of_node(node, Urgency.CAUTION, "attention.disk_full", {"share": share})


def of_node(
    node: NodeView,
    urgency: Urgency,
    code: str,
    data: Mapping[str, Any] | None = None,
    details: tuple[Detail, ...] = (),
) -> Concern:
    return Concern(urgency, Topic.NODE, code, node.id, {"node": node.name, **(data or {})}, details)


def last_known(node: NodeView) -> Iterator[Detail]:
    if node.heartbeat_at:
        yield Detail("attention.last_signal", {"at": node.heartbeat_at.isoformat()})
    if node.job_ids:
        yield Detail("attention.booked_there", {"jobs": [f"job-{job}" for job in node.job_ids]})


def disk_share(facts: Mapping[str, Any]) -> float | None:
    """How full the node's disk is, 0 to 1; None where it did not say."""
    whole, free = facts.get("disk_bytes"), facts.get("disk_free_bytes")
    if not isinstance(whole, int | float) or not isinstance(free, int | float) or whole <= 0:
        return None
    return 1 - free / whole


def failed_work(cluster: Cluster, actor: Actor) -> Iterator[Concern]:
    """Long work that stopped and that this person may ask for again; a dataset that could not be made."""
    for operation in operations.list_given_up(cluster, actor, SHOWN):
        details = (Detail(operation.error_code or "operation.broken", operation.error_data or {}),)
        yield Concern(
            Urgency.INTERRUPTED, Topic.OPERATION, "attention.operation_given_up", operation.id,
            {"operation": operation.kind}, details,
        )  # fmt: skip
    failed = select(Dataset.id, Dataset.name, Dataset.error_code, Dataset.error_data).where(
        Dataset.state == DatasetState.FAILED,
        Dataset.created_by == actor.user_id,
        Dataset.deleted_at.is_(None),
    )
    with cluster.store.read() as session:
        rows = session.execute(failed.limit(SHOWN)).all()
    for dataset_id, name, code, data in rows:
        why = (Detail(code, data or {}),) if code else ()
        yield Concern(
            Urgency.FAILED, Topic.DATASET, "attention.dataset_failed", dataset_id, {"name": name}, why
        )


def ending_terms(cluster: Cluster, actor: Actor, once: Once) -> Iterator[Concern]:
    """Workspaces in their last days, for who manages or administers them."""
    own = [
        workspace
        for workspace in once(places.list_places)
        if actor.is_administrator or workspace.manager_id == actor.user_id
    ]
    ending = [(workspace, left) for workspace in own if (left := soon_over(cluster, workspace)) is not None]
    if not ending:
        return
    with cluster.store.read() as session:
        kind = offered_kind(session).value
    for workspace, left in ending:
        code = "attention.term_ends" if left else "attention.term_ends_today"
        details = (Detail("attention.units_held", {"units": workspace.units, "kind": kind}),)
        data = {"name": workspace.name, "days": left}
        yield Concern(Urgency.CAUTION, Topic.WORKSPACE, code, workspace.id, data, details)


def soon_over(cluster: Cluster, workspace: Place) -> int | None:
    """Days left of an active workspace where they are few."""
    now, zone = cluster.clock(), cluster.settings.zone
    if (workspace.ends_on - now.date()).days > ENDS_SOON_DAYS + 1:
        return None  # Most of them: whichever the zone, the end is further away.
    if workspace_state(workspace, now, zone) is not WorkspaceState.ACTIVE:
        return None
    left = days_left(workspace, now, zone)
    return left if left <= ENDS_SOON_DAYS else None
