"""Who may go where: one table of endpoint and rule. An endpoint missing here stops the portal's start.

The guard holds what can be told from the request alone (nobody, somebody, an administrator). Rules about a
workspace, a training or a job are held by the services, which load it: who may not see it gets 404, who may
see it but not do it gets 403. The tests walk every line of this table with every kind of person.
"""

import hmac
from enum import Enum
from ipaddress import ip_address

from flask import Flask, g, request
from flask_login import current_user

from cluster.domain.errors import Forbidden, GroundcrewError
from cluster.services import node_tokens, tokens
from portal.current import address, current_actor, current_cluster, is_api, request_id

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Rule(Enum):
    """Administrators pass every rule."""

    ANYONE = "anyone"
    """Also who has not signed in."""
    SIGNED_IN = "signed in"
    ADMINISTRATOR = "administrator"
    MEMBER = "member of the workspace"
    MANAGER = "manager of the workspace"
    EXTENDS_WORKSPACE = "administrators; members see that they may not"
    DELETES_DATASET = "maker of the dataset or manager of its workspace"
    SEES_TRAINING = "sees the training"
    """Every member; of a private training the owner, named members and the workspace's manager."""
    OWNS_TRAINING = "owner of the training or manager of its workspace"
    SEES_JOB = "sees the job's training"
    ARRANGES_JOB = "the workspace's manager"
    STOPS_JOB = "the job's user, the training's owner or the workspace's manager"
    DELETES_FILES = "the job's user, the training's owner or the workspace's manager, once it has ended"
    SEES_SWEEP = "sees the sweep's training"
    STOPS_SWEEP = "the sweep's user, the training's owner or the workspace's manager"
    SEES_OPERATION = "requester or member of the workspace"
    RETRIES_OPERATION = "requester or manager of the workspace"
    NODE = "a node, by its own token"
    """Agents, and nobody who can sign in."""
    COLLECTOR = (
        "whoever collects metrics: by the installation's token, or from this machine where it has none"
    )
    OWN = "only one's own"
    """Sessions and tokens: not even an administrator reaches another person's."""


RULES: dict[str, Rule] = {
    "static": Rule.ANYONE,
    "health.health": Rule.ANYONE,
    "health.csp_report": Rule.ANYONE,
    "metrics.metrics": Rule.COLLECTOR,
    "look.set_language": Rule.ANYONE,
    "look.set_theme": Rule.ANYONE,
    "sign_in.sign_in": Rule.ANYONE,
    "sign_in.open_session": Rule.ANYONE,
    "sign_in.sign_out": Rule.SIGNED_IN,
    "first_administrator.form": Rule.ANYONE,
    "first_administrator.create": Rule.ANYONE,
    "links.form": Rule.ANYONE,
    "links.set_password": Rule.ANYONE,
    "stream.stream": Rule.SIGNED_IN,
    "dashboard.home": Rule.SIGNED_IN,
    "users.index": Rule.ADMINISTRATOR,
    "users.new": Rule.ADMINISTRATOR,
    "users.create": Rule.ADMINISTRATOR,
    "users.page": Rule.ADMINISTRATOR,
    "users.make_link": Rule.ADMINISTRATOR,
    "users.set_role": Rule.ADMINISTRATOR,
    "users.confirm_disable": Rule.ADMINISTRATOR,
    "users.disable": Rule.ADMINISTRATOR,
    "users.enable": Rule.ADMINISTRATOR,
    "nodes.index": Rule.SIGNED_IN,
    "nodes.page": Rule.SIGNED_IN,
    "nodes.confirm_drain": Rule.ADMINISTRATOR,
    "nodes.drain": Rule.ADMINISTRATOR,
    "nodes.undrain": Rule.ADMINISTRATOR,
    "workspaces.index": Rule.SIGNED_IN,
    "workspaces.new": Rule.ADMINISTRATOR,
    "workspaces.create": Rule.ADMINISTRATOR,
    "workspaces.home": Rule.MEMBER,
    "workspaces.edit": Rule.MANAGER,
    "workspaces.save": Rule.MANAGER,
    "workspaces.confirm_end": Rule.MANAGER,
    "workspaces.end": Rule.MANAGER,
    "workspaces.ask_longer": Rule.EXTENDS_WORKSPACE,
    "workspaces.extend": Rule.EXTENDS_WORKSPACE,
    "datasets.overall": Rule.SIGNED_IN,
    "datasets.index": Rule.MEMBER,
    "datasets.new": Rule.MEMBER,
    "datasets.create": Rule.MEMBER,
    "datasets.page": Rule.MEMBER,
    "datasets.confirm_delete": Rule.MEMBER,
    "datasets.delete": Rule.DELETES_DATASET,
    "trainings.overall": Rule.SIGNED_IN,
    "trainings.index": Rule.MEMBER,
    "trainings.new": Rule.MEMBER,
    "trainings.create": Rule.MEMBER,
    "trainings.page": Rule.SEES_TRAINING,
    "trainings.upload_code": Rule.OWNS_TRAINING,
    "job_new.new": Rule.SEES_TRAINING,
    "job_new.create": Rule.SEES_TRAINING,
    "job_new.check": Rule.SEES_TRAINING,
    "jobs.index": Rule.SIGNED_IN,
    "jobs.page": Rule.SEES_JOB,
    "jobs.duplicate": Rule.SEES_JOB,
    "jobs.confirm_stop": Rule.SEES_JOB,
    "jobs.stop": Rule.STOPS_JOB,
    "jobs.confirm_delete_files": Rule.SEES_JOB,
    "jobs.delete_files": Rule.DELETES_FILES,
    "sweeps.page": Rule.SEES_SWEEP,
    "sweeps.metrics": Rule.SEES_SWEEP,
    "sweeps.confirm_stop": Rule.SEES_SWEEP,
    "sweeps.stop": Rule.STOPS_SWEEP,
    "job_log.piece": Rule.SEES_JOB,
    "job_log.raw": Rule.SEES_JOB,
    "job_log.download": Rule.SEES_JOB,
    "job_metrics.metrics": Rule.SEES_JOB,
    "job_metrics.checkpoint": Rule.SEES_JOB,
    "accounting.page": Rule.SIGNED_IN,
    "images.page": Rule.SIGNED_IN,
    "queue.page": Rule.SIGNED_IN,
    "queue.hold": Rule.ARRANGES_JOB,
    "queue.release": Rule.ARRANGES_JOB,
    "queue.move": Rule.ARRANGES_JOB,
    "operations.index": Rule.SIGNED_IN,
    "operations.page": Rule.SEES_OPERATION,
    "operations.log": Rule.SEES_OPERATION,
    "operations.retry": Rule.RETRIES_OPERATION,
    "repairs.index": Rule.ADMINISTRATOR,
    "repairs.forecast": Rule.ADMINISTRATOR,
    "repairs.ask": Rule.ADMINISTRATOR,
    "repairs.run": Rule.ADMINISTRATOR,
    "repairs.cancel": Rule.ADMINISTRATOR,
    "backups.page": Rule.ADMINISTRATOR,
    "backups.make": Rule.ADMINISTRATOR,
    "access_log.page": Rule.ADMINISTRATOR,
    "access_log.days": Rule.ADMINISTRATOR,
    "access_log.day": Rule.ADMINISTRATOR,
    "access_log.confirm_delete": Rule.ADMINISTRATOR,
    "access_log.delete": Rule.ADMINISTRATOR,
    "profile.page": Rule.SIGNED_IN,
    "profile.change_password": Rule.SIGNED_IN,
    "profile.set_mail": Rule.SIGNED_IN,
    "profile.end_session": Rule.OWN,
    "profile.end_others": Rule.SIGNED_IN,
    "profile.create_token": Rule.SIGNED_IN,
    "profile.revoke_token": Rule.OWN,
    "api-docs.openapi_json": Rule.ANYONE,
    "api_nodes.Nodes": Rule.SIGNED_IN,
    "api_nodes.OneNode": Rule.SIGNED_IN,
    "api_nodes.Kubernetes": Rule.ADMINISTRATOR,
    "api_nodes.Drain": Rule.ADMINISTRATOR,
    "api_nodes.Undrain": Rule.ADMINISTRATOR,
    "api_heartbeats.Heartbeats": Rule.NODE,
    "api_repairs.Repairs": Rule.ADMINISTRATOR,
    "api_repairs.OneRepair": Rule.ADMINISTRATOR,
    "api_repairs.OneRun": Rule.ADMINISTRATOR,
    "api_repairs.CancelRun": Rule.ADMINISTRATOR,
    "api_workspaces.Workspaces": Rule.SIGNED_IN,
    "api_trainings.Trainings": Rule.SIGNED_IN,
    "api_datasets.Datasets": Rule.SIGNED_IN,
    "api_jobs.Jobs": Rule.SIGNED_IN,
    "api_jobs.OneJob": Rule.SEES_JOB,
    "api_jobs.Why": Rule.SEES_JOB,
    "api_jobs.Log": Rule.SEES_JOB,
    "api_jobs.Stop": Rule.STOPS_JOB,
    "api_jobs.Files": Rule.DELETES_FILES,
    "api_jobs.DeleteFiles": Rule.SIGNED_IN,
    "api_jobs.JobAccounting": Rule.SEES_JOB,
    "api_accounting.Accounting": Rule.SIGNED_IN,
    "api_images.Images": Rule.SIGNED_IN,
    "api_sweeps.Sweeps": Rule.SIGNED_IN,
    "api_sweeps.OneSweep": Rule.SEES_SWEEP,
    "api_sweeps.StopSweep": Rule.STOPS_SWEEP,
    "api_jobs.Hold": Rule.ARRANGES_JOB,
    "api_jobs.Release": Rule.ARRANGES_JOB,
    "api_jobs.Move": Rule.ARRANGES_JOB,
    "api_queue.TheQueue": Rule.SIGNED_IN,
}


class NotSignedIn(GroundcrewError):
    """The person has to say who they are first; the handler sends them to the sign-in page."""

    def __init__(self, code: str = "session.needed") -> None:
        super().__init__(code)


class UndeclaredEndpoint(RuntimeError):
    """A route was written without saying who may use it."""


def init_app(app: Flask) -> None:
    app.before_request(guard)


def check_table(app: Flask) -> None:
    """Raises UndeclaredEndpoint with all routes that have no rule."""
    missing = sorted({rule.endpoint for rule in app.url_map.iter_rules()} - set(RULES))
    if missing:
        raise UndeclaredEndpoint(f"portal/permissions.py has no rule for: {', '.join(missing)}")


def guard() -> None:
    """Runs before every view; raises NotSignedIn or Forbidden."""
    if request.endpoint is None:
        return
    rule = RULES[request.endpoint]
    refuse_other_sites()
    if rule is Rule.ANYONE:
        return
    if rule is Rule.NODE:
        identify_node()
        return
    if rule is Rule.COLLECTOR:
        identify_collector()
        return
    if is_api():
        identify_by_token()
    elif not current_user.is_authenticated:
        raise NotSignedIn
    actor = current_actor()
    if rule is Rule.ADMINISTRATOR and not actor.is_administrator:
        raise Forbidden("forbidden.administrators_only")


def refuse_other_sites() -> None:
    """A page on another port of this host (a notebook) could send our cookie: no writes from there."""
    if request.method not in SAFE_METHODS and request.headers.get("Sec-Fetch-Site") in (
        "same-site",
        "cross-site",
    ):
        raise Forbidden("forbidden.other_site")


def identify_node() -> None:
    """Which node speaks; raises NotSignedIn for everybody else."""
    token = node_tokens.read_node_token(current_cluster(), bearer_text())
    if token is None:
        raise NotSignedIn
    g.node_token = token


def identify_collector() -> None:
    """A request that some proxy has passed on comes from elsewhere, whatever its address. Raises Forbidden."""
    settings = current_cluster().settings
    if settings.metrics_token:
        if hmac.compare_digest(bearer_text().encode(), settings.metrics_token.encode()):
            return
        raise Forbidden("forbidden.metrics_token")
    # Our own nginx adds the address that it sees; another one before it means that somebody else's proxy passed it on.
    passed_by = request.headers.get("X-Forwarded-For", "").count(",") + ("X-Forwarded-For" in request.headers)
    is_passed_on = passed_by > settings.is_behind_proxy
    if is_passed_on or not is_loopback(address()):
        raise Forbidden("forbidden.metrics_elsewhere")


def is_loopback(text: str) -> bool:
    try:
        return ip_address(text).is_loopback
    except ValueError:
        return False


def bearer_text() -> str:
    """Empty where the request carries no such token."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def identify_by_token() -> None:
    """REST takes a bearer token; a browser's session may read, so that a person can look at an answer."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        actor = tokens.read_token(current_cluster(), text.strip(), address(), request_id())
        if actor is None:
            raise NotSignedIn(tokens.why_refused(current_cluster(), text.strip()))
        if request.method not in SAFE_METHODS and actor.scopes is not None and "write" not in actor.scopes:
            raise Forbidden("forbidden.token_reads_only")
        g.actor = actor
    elif not (request.method in SAFE_METHODS and current_user.is_authenticated):
        raise NotSignedIn
