"""What needs a person: the lines of the sign, people blocked first. Silence means that all was looked at."""

from collections.abc import Iterator
from dataclasses import dataclass

from flask import g, url_for
from markupsafe import Markup
from sqlalchemy import select

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
from cluster.services import backups, environments, executor_silence, nodes, operations, places
from cluster.services.nodes import NodeView
from cluster.services.places import Place
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job
from portal.current import current_actor, current_cluster, read_once
from portal.i18n import _, ago, clock, ngettext, percent
from portal.saying import operation_word, say
from portal.units import units

ENDS_SOON_DAYS = 3
DISK_FULL_SHARE = 0.9
STUCK_CODES = frozenset(
    {
        "waiting.nodes_too_small",
        "waiting.cluster_too_small",
        "waiting.quota_too_small",
        "waiting.workspace_expired",
        "waiting.dataset_failed",
        "waiting.no_executor",
    }
)
"""Reasons that no other job's end takes away: somebody has to do something."""
STUCK_SHOWN = 3
URGENCY = ["waiting", "failed", "unreachable", "broken", "interrupted", "caution"]
"""People who cannot go on come first, what is only going to matter last."""


@dataclass(frozen=True)
class Line:
    """`kind` is a state of the macros; `button` the word on the one way out, which leads to `href`."""

    kind: str
    what: str | Markup
    detail: str = ""
    href: str | None = None
    button: str = ""
    word: str | None = None
    place: str = "/"
    """The rail's entry that counts it too."""


def attention() -> list[Line]:
    """Read once per request: the page and the rail show the same."""
    if "attention" not in g:
        found = [*stuck_jobs(), *environment_lines(), *engine_lines(), *backup_lines(), *node_lines()]
        found += [*failed_lines(), *term_lines()]
        g.attention = sorted(found, key=lambda line: URGENCY.index(line.kind))
    lines: list[Line] = g.attention
    return lines


def strong(template: str, **values: object) -> Markup:
    """A sentence with its names in bold."""
    return Markup(template) % {key: Markup("<b>%s</b>") % value for key, value in values.items()}


def stuck_jobs() -> Iterator[Line]:
    """Waiting jobs that this person can help, and for which waiting alone does not."""
    cluster, actor = current_cluster(), current_actor()
    stuck = select(Job.id, Job.waiting_code, Job.waiting_data).where(
        Job.state == JobState.WAITING, Job.waiting_code.in_(STUCK_CODES)
    )
    if not actor.is_administrator:
        stuck = stuck.where(Job.user_id == actor.user_id)
    with cluster.store.read() as session:
        rows = session.execute(stuck.order_by(Job.id).limit(STUCK_SHOWN)).all()
    for job_id, code, data in rows:
        what = strong(_("%(job)s cannot start"), job=f"job-{job_id}")
        yield Line(
            "waiting", what, say(code, data), url_for("jobs.page", job_id=job_id), _("See job"), place="/jobs"
        )


def environment_lines() -> Iterator[Line]:
    environment = environments.read_default_environment(current_cluster())
    if environment is None or environment.state is not EnvironmentState.FAILED:
        return
    what = _("The training environment could not be built")
    detail = _("no job can start until it is")
    if environment.operation_id is None:
        yield Line("failed", what, detail)
    else:
        href = url_for("operations.page", operation_id=environment.operation_id)
        yield Line("failed", what, detail, href, _("See what failed"), place="/operations")


def engine_lines() -> Iterator[Line]:
    """For administrators: what starts jobs does not answer."""
    silence = executor_silence.read_silence(current_cluster()) if current_actor().is_administrator else None
    if silence is not None:
        what, since = say(silence.code, silence.data), clock(silence.since)
        detail = _("since %(time)s nothing starts; what runs goes on", time=since)
        yield Line("unreachable", what, detail, url_for("nodes.index"), _("See nodes"), place="/nodes")


def backup_lines() -> Iterator[Line]:
    """For administrators, where this installation makes backups: too old, damaged, or not made last night."""
    cluster = current_cluster()
    if not current_actor().is_administrator or cluster.settings.backup_at is None:
        return
    standing = backups.read_standing(cluster)
    href = url_for("backups.page")
    if standing.is_too_old:
        proven = standing.proven
        detail = _("the last one was made %(ago)s", ago=ago(proven.made_at)) if proven else _("never yet")
        what = _("No new backup has been proven by a restore")
        yield Line("caution", what, detail, href, _("See backups"), place="/repairs")
    for backup in standing.damaged[:STUCK_SHOWN]:
        what = strong(_("Backup %(name)s is damaged"), name=backup.name)
        yield Line("broken", what, backup.problem, href, _("See backups"), place="/repairs")
    failed = standing.failed
    if failed is not None and failed.state is OperationState.FAILED:
        code = failed.error_code or ""
        what = _("The nightly backup failed")
        if code.startswith("audit."):
            what = _("The access log was changed")
        elif code == "backup.not_copied":
            what = _("The nightly backup lies on this machine alone")
        link = url_for("operations.page", operation_id=failed.id)
        yield Line(
            "failed", what, say(code, failed.error_data), link, _("See what failed"), place="/operations"
        )


def node_lines() -> Iterator[Line]:
    """For administrators: others cannot do anything about a node."""
    if not current_actor().is_administrator:
        return
    for node in read_once(nodes.unit_map):
        href = url_for("nodes.page", node_id=node.id)
        if node.state in (NodeState.UNREACHABLE, NodeState.LOST):
            given_up = _("%(node)s does not answer and was given up")
            is_lost = node.state is NodeState.LOST
            what = strong(given_up if is_lost else _("%(node)s does not answer"), node=node.name)
            silent = _("last signal %(ago)s", ago=ago(node.heartbeat_at)) if node.heartbeat_at else ""
            detail = " · ".join(part for part in (silent, booked(node)) if part)
            yield Line("unreachable", what, detail, href, _("See node"), place="/nodes")
        broken = sum(unit.unit.state is UnitState.BROKEN for unit in node.units)
        if broken:
            what = strong(_("%(node)s: %(units)s broken"), node=node.name, units=units(broken))
            rest = len(node.units) - broken
            detail = ngettext("the other one is fine", "the other %(num)d are fine", rest) if rest else ""
            yield Line("broken", what, detail, href, _("See node"), place="/nodes")
        share = disk_share(node)
        if share is not None and share > DISK_FULL_SHARE:
            what = strong(_("The disk of %(node)s is %(share)s full"), node=node.name, share=percent(share))
            yield Line("caution", what, "", href, _("See node"), place="/nodes")


def booked(node: NodeView) -> str:
    if not node.job_ids:
        return ""
    return _("booked there: %(jobs)s", jobs=", ".join(f"job-{job}" for job in node.job_ids))


def disk_share(node: NodeView) -> float | None:
    whole, free = node.facts.get("disk_bytes"), node.facts.get("disk_free_bytes")
    if not isinstance(whole, int | float) or not isinstance(free, int | float) or whole <= 0:
        return None
    return 1 - free / whole


def failed_lines() -> Iterator[Line]:
    """Long work that stopped and that this person may ask for again; a dataset that could not be made."""
    cluster, actor = current_cluster(), current_actor()
    for operation in read_once(operations.list_operations):
        if operation.state is OperationState.INTERRUPTED and operations.may_retry(cluster, actor, operation):
            href = url_for("operations.page", operation_id=operation.id)
            detail = say(operation.error_code or "", operation.error_data)
            yield Line(
                "interrupted", operation_word(operation.kind), detail, href, _("See it"), place="/operations"
            )
    failed = select(Dataset).where(
        Dataset.state == DatasetState.FAILED,
        Dataset.created_by == actor.user_id,
        Dataset.deleted_at.is_(None),
    )
    with cluster.store.read() as session:
        for dataset in session.scalars(failed.limit(STUCK_SHOWN)):
            what = strong(_("Dataset %(name)s could not be made"), name=dataset.name)
            detail = say(dataset.error_code, dataset.error_data) if dataset.error_code else ""
            yield Line(
                "failed", what, detail, url_for("datasets.page", dataset_id=dataset.id), _("See dataset")
            )


def term_lines() -> Iterator[Line]:
    """Workspaces in their last days, for who manages or administers them."""
    actor = current_actor()
    for workspace in read_once(places.list_places):
        if not (actor.is_administrator or workspace.manager_id == actor.user_id):
            continue
        left = soon_over(workspace)
        if left is None:
            continue
        when = ngettext("in %(num)d day", "in %(num)d days", left) if left else _("today")
        what = strong(_("Workspace %(name)s ends %(when)s"), name=workspace.name, when=when)
        where = "workspaces.ask_longer" if actor.is_administrator else "workspaces.home"
        word = _("Extend") if actor.is_administrator else _("See workspace")
        href = url_for(where, workspace_id=workspace.id)
        yield Line("caution", what, units(workspace.units), href, word, place="/workspaces")


def soon_over(workspace: Place) -> int | None:
    """Days left of an active workspace where they are few."""
    cluster = current_cluster()
    now, zone = cluster.clock(), cluster.settings.zone
    if (workspace.ends_on - now.date()).days > ENDS_SOON_DAYS + 1:
        return None  # Most of them: whichever the zone, the end is further away.
    if workspace_state(workspace, now, zone) is not WorkspaceState.ACTIVE:
        return None
    left = days_left(workspace, now, zone)
    return left if left <= ENDS_SOON_DAYS else None
