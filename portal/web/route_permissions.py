"""The permission of every route, in one table. A route without a rule stops the start of the portal.

The guard checks the rules that the request alone decides (anyone, signed in, administrator). The services check rules
about a workspace, a training or a job, because they load it: a person who may not see it gets 404, and one who may see
it but not do it gets 403. The tests try every line of this table with every kind of person.
"""

import hmac
from enum import Enum
from ipaddress import ip_address

from flask import Flask, g, request
from flask_login import current_user

from cluster.domain.errors import Forbidden, GroundcrewError
from cluster.services.nodes import node_tokens
from cluster.services.people import api_tokens
from portal.i18n.translate import note_request_reader
from portal.web.request_context import (
    client_address,
    current_actor,
    current_cluster,
    current_request_id,
    is_api_request,
)

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class RouteRule(Enum):
    """Administrators pass every rule."""

    ANYONE = "anyone"
    """Everybody, also people who have not signed in."""
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
    REORDERS_JOB = "the workspace's manager"
    STOPS_JOB = "the job's user, the training's owner or the workspace's manager"
    DELETES_FILES = "the job's user, the training's owner or the workspace's manager, once it has ended"
    OPENS_NOTEBOOK = "the person whose job the notebook is; not even an administrator opens another person's"
    SEES_SWEEP = "sees the sweep's training"
    STOPS_SWEEP = "the sweep's user, the training's owner or the workspace's manager"
    SEES_OPERATION = "requester or member of the workspace"
    RETRIES_OPERATION = "requester or manager of the workspace"
    NODE = "a node, by its own token"
    """Only agents of nodes, and no person."""
    NGINX = "nginx, for a browser with a ticket or the cookie of one notebook; it sends nothing else there"
    METRICS_READER = (
        "whoever collects metrics: by the installation's token, or from this machine where it has none"
    )
    OWNER_ONLY = "only one's own"
    """The person's own sessions and tokens: not even an administrator reaches those of another person."""


ROUTE_RULES: dict[str, RouteRule] = {
    "static": RouteRule.ANYONE,
    "health.health": RouteRule.ANYONE,
    "health.csp_report": RouteRule.ANYONE,
    "command.program": RouteRule.ANYONE,
    "command.authority": RouteRule.ANYONE,
    "metrics.metrics": RouteRule.METRICS_READER,
    "preferences.set_language": RouteRule.ANYONE,
    "preferences.set_theme": RouteRule.ANYONE,
    "sign_in.sign_in": RouteRule.ANYONE,
    "sign_in.open_session": RouteRule.ANYONE,
    "sign_in.sign_in_again": RouteRule.ANYONE,
    "sign_in.reopen_session": RouteRule.ANYONE,
    "sign_in.sign_out": RouteRule.SIGNED_IN,
    "first_administrator.form": RouteRule.ANYONE,
    "first_administrator.create": RouteRule.ANYONE,
    "links.form": RouteRule.ANYONE,
    "links.set_password": RouteRule.ANYONE,
    "dashboard.home": RouteRule.SIGNED_IN,
    "attention.dismiss": RouteRule.SIGNED_IN,
    "users.index": RouteRule.ADMINISTRATOR,
    "users.new": RouteRule.ADMINISTRATOR,
    "users.create": RouteRule.ADMINISTRATOR,
    "user_import.form": RouteRule.ADMINISTRATOR,
    "user_import.submit": RouteRule.ADMINISTRATOR,
    "users.page": RouteRule.ADMINISTRATOR,
    "users.link": RouteRule.ADMINISTRATOR,
    "users.make_link": RouteRule.ADMINISTRATOR,
    "users.set_role": RouteRule.ADMINISTRATOR,
    "users.confirm_disable": RouteRule.ADMINISTRATOR,
    "users.disable": RouteRule.ADMINISTRATOR,
    "users.enable": RouteRule.ADMINISTRATOR,
    "search.page": RouteRule.SIGNED_IN,
    "help.index": RouteRule.SIGNED_IN,
    "help.page": RouteRule.SIGNED_IN,
    "rest_reference.page": RouteRule.SIGNED_IN,
    "rest_reference.docs": RouteRule.ANYONE,
    "nodes.index": RouteRule.SIGNED_IN,
    "nodes.page": RouteRule.SIGNED_IN,
    "nodes.confirm_drain": RouteRule.ADMINISTRATOR,
    "nodes.drain": RouteRule.ADMINISTRATOR,
    "nodes.undrain": RouteRule.ADMINISTRATOR,
    "nodes.confirm_forget": RouteRule.ADMINISTRATOR,
    "nodes.forget": RouteRule.ADMINISTRATOR,
    "workspaces.index": RouteRule.SIGNED_IN,
    "workspaces.new": RouteRule.ADMINISTRATOR,
    "workspaces.create": RouteRule.ADMINISTRATOR,
    "workspaces.home": RouteRule.MEMBER,
    "workspaces.edit": RouteRule.MANAGER,
    "workspaces.save": RouteRule.MANAGER,
    "workspaces.confirm_end": RouteRule.MANAGER,
    "workspaces.end": RouteRule.MANAGER,
    "workspaces.ask_longer": RouteRule.EXTENDS_WORKSPACE,
    "workspaces.extend": RouteRule.EXTENDS_WORKSPACE,
    "workspace_storage.ask_limit": RouteRule.EXTENDS_WORKSPACE,
    "workspace_storage.limit": RouteRule.EXTENDS_WORKSPACE,
    "datasets.overall": RouteRule.SIGNED_IN,
    "datasets.index": RouteRule.MEMBER,
    "datasets.new": RouteRule.MEMBER,
    "datasets.create": RouteRule.MEMBER,
    "datasets.check": RouteRule.MEMBER,
    "datasets.unpack_with_latin_names": RouteRule.DELETES_DATASET,
    "datasets.page": RouteRule.MEMBER,
    "datasets.confirm_delete": RouteRule.MEMBER,
    "datasets.delete": RouteRule.DELETES_DATASET,
    "dataset_files.page": RouteRule.MEMBER,
    "dataset_files.download": RouteRule.MEMBER,
    "dataset_files.archive": RouteRule.MEMBER,
    "trainings.overall": RouteRule.SIGNED_IN,
    "trainings.index": RouteRule.MEMBER,
    "trainings.new": RouteRule.MEMBER,
    "trainings.create": RouteRule.MEMBER,
    "trainings.page": RouteRule.SEES_TRAINING,
    "training_changes.edit": RouteRule.OWNS_TRAINING,
    "training_changes.save": RouteRule.OWNS_TRAINING,
    "training_changes.hand_over": RouteRule.OWNS_TRAINING,
    "training_changes.archive": RouteRule.OWNS_TRAINING,
    "training_changes.unarchive": RouteRule.OWNS_TRAINING,
    "training_changes.confirm_delete": RouteRule.SEES_TRAINING,
    "training_changes.delete": RouteRule.OWNS_TRAINING,
    "training_code.page": RouteRule.SEES_TRAINING,
    "training_code.upload": RouteRule.OWNS_TRAINING,
    "training_code.remove": RouteRule.OWNS_TRAINING,
    "training_code.download": RouteRule.SEES_TRAINING,
    "training_code.archive": RouteRule.SEES_TRAINING,
    "training_code.compare": RouteRule.SEES_TRAINING,
    "git_source.page": RouteRule.SEES_TRAINING,
    "git_source.save": RouteRule.OWNS_TRAINING,
    "git_source.fetch": RouteRule.OWNS_TRAINING,
    "git_source.remove": RouteRule.OWNS_TRAINING,
    "code_editor.edit": RouteRule.OWNS_TRAINING,
    "code_editor.save": RouteRule.OWNS_TRAINING,
    "notebooks.index": RouteRule.SIGNED_IN,
    "notebooks.training": RouteRule.SEES_TRAINING,
    "notebooks.start": RouteRule.SEES_TRAINING,
    "notebooks.save": RouteRule.OWNS_TRAINING,
    "notebooks.ask_for_environment": RouteRule.OWNS_TRAINING,
    "notebooks.page": RouteRule.SEES_JOB,
    "notebooks.open_": RouteRule.OPENS_NOTEBOOK,
    "notebooks.keep": RouteRule.OPENS_NOTEBOOK,
    "notebook_gate.check": RouteRule.NGINX,
    "notebook_gate.enter": RouteRule.NGINX,
    "job_new.new": RouteRule.SEES_TRAINING,
    "job_new.create": RouteRule.SEES_TRAINING,
    "job_new.check": RouteRule.SEES_TRAINING,
    "job_new.script": RouteRule.SEES_TRAINING,
    "jobs.index": RouteRule.SIGNED_IN,
    "jobs.page": RouteRule.SEES_JOB,
    "jobs.duplicate": RouteRule.SEES_JOB,
    "jobs.confirm_continue": RouteRule.SEES_JOB,
    "jobs.continue_": RouteRule.SEES_JOB,
    "jobs.confirm_stop": RouteRule.SEES_JOB,
    "jobs.stop": RouteRule.STOPS_JOB,
    "jobs.confirm_delete_files": RouteRule.SEES_JOB,
    "jobs.delete_files": RouteRule.DELETES_FILES,
    "runs.compare": RouteRule.SIGNED_IN,
    "runs.compare_metrics": RouteRule.SIGNED_IN,
    "runs.confirm_stop": RouteRule.SIGNED_IN,
    "runs.stop": RouteRule.SIGNED_IN,
    "runs.confirm_rerun": RouteRule.SIGNED_IN,
    "runs.rerun": RouteRule.SIGNED_IN,
    "runs.edit_tags": RouteRule.SIGNED_IN,
    "runs.save_tags": RouteRule.SIGNED_IN,
    "runs.confirm_delete_files": RouteRule.SIGNED_IN,
    "runs.delete_files": RouteRule.SIGNED_IN,
    "runs.save_view": RouteRule.SIGNED_IN,
    "runs.delete_view": RouteRule.OWNER_ONLY,
    "sweep_list.index": RouteRule.SIGNED_IN,
    "sweeps.page": RouteRule.SEES_SWEEP,
    "sweeps.metrics": RouteRule.SEES_SWEEP,
    "sweeps.confirm_stop": RouteRule.SEES_SWEEP,
    "sweeps.stop": RouteRule.STOPS_SWEEP,
    "job_log.raw": RouteRule.SEES_JOB,
    "job_log.download": RouteRule.SEES_JOB,
    "job_metrics.metrics": RouteRule.SEES_JOB,
    "job_checkpoints.download": RouteRule.SEES_JOB,
    "job_files.download": RouteRule.SEES_JOB,
    "job_files.archive": RouteRule.SEES_JOB,
    "accounting.page": RouteRule.SIGNED_IN,
    "environments.images": RouteRule.SIGNED_IN,
    "environments.index": RouteRule.SIGNED_IN,
    "wheels.index": RouteRule.ADMINISTRATOR,
    "wheels.upload": RouteRule.ADMINISTRATOR,
    "wheels.delete": RouteRule.ADMINISTRATOR,
    "environments.new": RouteRule.SIGNED_IN,
    "environments.create": RouteRule.SIGNED_IN,
    "environments.page": RouteRule.MEMBER,
    "environments.change_scope": RouteRule.MANAGER,
    "environments.rebuild": RouteRule.MANAGER,
    "environments.approve": RouteRule.MANAGER,
    "environments.decline": RouteRule.MANAGER,
    "environments.cancel": RouteRule.MANAGER,
    "environments.confirm_delete": RouteRule.MEMBER,
    "environments.delete": RouteRule.MANAGER,
    "queue.page": RouteRule.SIGNED_IN,
    "queue.hold": RouteRule.REORDERS_JOB,
    "queue.release": RouteRule.REORDERS_JOB,
    "queue.move": RouteRule.REORDERS_JOB,
    "operations.index": RouteRule.SIGNED_IN,
    "operations.page": RouteRule.SEES_OPERATION,
    "operations.log": RouteRule.SEES_OPERATION,
    "operations.retry": RouteRule.RETRIES_OPERATION,
    "repairs.index": RouteRule.ADMINISTRATOR,
    "repairs.forecast": RouteRule.ADMINISTRATOR,
    "repairs.ask": RouteRule.ADMINISTRATOR,
    "repairs.run": RouteRule.ADMINISTRATOR,
    "repairs.cancel": RouteRule.ADMINISTRATOR,
    "backups.page": RouteRule.ADMINISTRATOR,
    "backups.make": RouteRule.ADMINISTRATOR,
    "access_log.page": RouteRule.ADMINISTRATOR,
    "access_log.days": RouteRule.ADMINISTRATOR,
    "access_log.day": RouteRule.ADMINISTRATOR,
    "access_log.confirm_delete": RouteRule.ADMINISTRATOR,
    "access_log.delete": RouteRule.ADMINISTRATOR,
    "profile.page": RouteRule.SIGNED_IN,
    "profile.change_password": RouteRule.SIGNED_IN,
    "profile.set_time_zone": RouteRule.SIGNED_IN,
    "profile.set_notifications": RouteRule.SIGNED_IN,
    "profile.send_test": RouteRule.SIGNED_IN,
    "profile.end_session": RouteRule.OWNER_ONLY,
    "profile.end_others": RouteRule.SIGNED_IN,
    "profile.create_token": RouteRule.SIGNED_IN,
    "profile.revoke_token": RouteRule.OWNER_ONLY,
    "profile_keys.add": RouteRule.SIGNED_IN,
    "profile_keys.remove": RouteRule.OWNER_ONLY,
    "api-docs.openapi_json": RouteRule.ANYONE,
    "api_nodes.Nodes": RouteRule.SIGNED_IN,
    "api_nodes.Units": RouteRule.SIGNED_IN,
    "api_nodes.OneNode": RouteRule.SIGNED_IN,
    "api_nodes.ForgetNode": RouteRule.ADMINISTRATOR,
    "api_nodes.Kubernetes": RouteRule.ADMINISTRATOR,
    "api_nodes.Drain": RouteRule.ADMINISTRATOR,
    "api_nodes.Undrain": RouteRule.ADMINISTRATOR,
    "api_heartbeats.Heartbeats": RouteRule.NODE,
    "api_repairs.Repairs": RouteRule.ADMINISTRATOR,
    "api_repairs.OneRepair": RouteRule.ADMINISTRATOR,
    "api_repairs.OneRun": RouteRule.ADMINISTRATOR,
    "api_repairs.CancelRun": RouteRule.ADMINISTRATOR,
    "api_notifications.Choices": RouteRule.SIGNED_IN,
    "api_notifications.TestMessages": RouteRule.SIGNED_IN,
    "api_ssh-door.Door": RouteRule.SIGNED_IN,
    "api_ssh-keys.SshKeys": RouteRule.SIGNED_IN,
    "api_ssh-keys.OneSshKey": RouteRule.OWNER_ONLY,
    "api_workspaces.Workspaces": RouteRule.SIGNED_IN,
    "api_workspaces.StorageLimit": RouteRule.EXTENDS_WORKSPACE,
    "api_trainings.Trainings": RouteRule.SIGNED_IN,
    "api_trainings.OneTraining": RouteRule.SEES_TRAINING,
    "api_trainings.ChangeTraining": RouteRule.OWNS_TRAINING,
    "api_trainings.Dependents": RouteRule.SEES_TRAINING,
    "api_trainings.CodeVersions": RouteRule.SEES_TRAINING,
    "api_trainings.NewCodeVersion": RouteRule.OWNS_TRAINING,
    "api_trainings.CodeArchives": RouteRule.OWNS_TRAINING,
    "api_trainings.CodeArchiveCheck": RouteRule.OWNS_TRAINING,
    "api_trainings.CodeTree": RouteRule.SEES_TRAINING,
    "api_trainings.CodeContent": RouteRule.SEES_TRAINING,
    "api_trainings.CodeComparison": RouteRule.SEES_TRAINING,
    "api_trainings.TrainingGitSource": RouteRule.SEES_TRAINING,
    "api_trainings.ChangeTrainingGitSource": RouteRule.OWNS_TRAINING,
    "api_trainings.FetchTrainingCode": RouteRule.OWNS_TRAINING,
    "api_workspaces.DatasetUploads": RouteRule.MEMBER,
    "api_workspaces.DatasetUploadCheck": RouteRule.MEMBER,
    "api_datasets.Datasets": RouteRule.SIGNED_IN,
    "api_datasets.OneDataset": RouteRule.MEMBER,
    "api_datasets.ChangeDataset": RouteRule.DELETES_DATASET,
    "api_datasets.DatasetFileList": RouteRule.MEMBER,
    "api_datasets.DatasetFileContent": RouteRule.MEMBER,
    "api_jobs.Jobs": RouteRule.SIGNED_IN,
    "api_jobs.OneJob": RouteRule.SEES_JOB,
    "api_jobs.Why": RouteRule.SEES_JOB,
    "api_jobs.Log": RouteRule.SEES_JOB,
    "api_jobs.MergedLines": RouteRule.SEES_JOB,
    "api_jobs.LogSearch": RouteRule.SEES_JOB,
    "api_jobs.FileList": RouteRule.SEES_JOB,
    "api_jobs.FileContent": RouteRule.SEES_JOB,
    "api_jobs.Metrics": RouteRule.SEES_JOB,
    "api_jobs.MetricRows": RouteRule.SEES_JOB,
    "api_jobs.Stop": RouteRule.STOPS_JOB,
    "api_jobs.Files": RouteRule.DELETES_FILES,
    "api_jobs.DeleteFiles": RouteRule.SIGNED_IN,
    "api_jobs.StopJobs": RouteRule.SIGNED_IN,
    "api_jobs.RerunJobs": RouteRule.SIGNED_IN,
    "api_jobs.Tags": RouteRule.SIGNED_IN,
    "api_jobs.Note": RouteRule.SIGNED_IN,
    "api_jobs.JobAccounting": RouteRule.SEES_JOB,
    "api_accounting.Accounting": RouteRule.SIGNED_IN,
    "api_images.Images": RouteRule.SIGNED_IN,
    "api_environments.Environments": RouteRule.SIGNED_IN,
    "api_environments.OneEnvironment": RouteRule.MEMBER,
    "api_environments.ChangeEnvironment": RouteRule.MANAGER,
    "api_environments.RebuildEnvironment": RouteRule.MANAGER,
    "api_environments.ApproveEnvironment": RouteRule.MANAGER,
    "api_environments.DeclineEnvironment": RouteRule.MANAGER,
    "api_environments.CancelEnvironmentBuild": RouteRule.MANAGER,
    "api_sweeps.Sweeps": RouteRule.SIGNED_IN,
    "api_sweeps.OneSweep": RouteRule.SEES_SWEEP,
    "api_sweeps.StopSweep": RouteRule.STOPS_SWEEP,
    "api_jobs.Hold": RouteRule.REORDERS_JOB,
    "api_jobs.Release": RouteRule.REORDERS_JOB,
    "api_jobs.Move": RouteRule.REORDERS_JOB,
    "api_notebooks.Notebooks": RouteRule.SIGNED_IN,
    "api_notebooks.OneNotebook": RouteRule.SEES_JOB,
    "api_notebooks.KeepNotebook": RouteRule.OPENS_NOTEBOOK,
    "api_trainings.SaveWorkingCopy": RouteRule.OWNS_TRAINING,
    "api_trainings.WorkingCopyEnvironment": RouteRule.OWNS_TRAINING,
    "api_queue.TheQueue": RouteRule.SIGNED_IN,
}


class NotSignedIn(GroundcrewError):
    """The person is not signed in; the error handler sends them to the sign-in page."""

    def __init__(self, code: str = "session.needed") -> None:
        super().__init__(code)


class UndeclaredEndpoint(RuntimeError):
    """A route has no rule that says who may use it."""


def init_app(app: Flask) -> None:
    app.before_request(authorize_request)


def require_rule_for_every_route(app: Flask) -> None:
    """Raises UndeclaredEndpoint with all routes that have no rule."""
    missing = sorted({rule.endpoint for rule in app.url_map.iter_rules()} - set(ROUTE_RULES))
    if missing:
        raise UndeclaredEndpoint(f"portal/web/route_permissions.py has no rule for: {', '.join(missing)}")


def authorize_request() -> None:
    """Runs before every view; raises NotSignedIn or Forbidden."""
    if request.endpoint is None:
        return
    rule = ROUTE_RULES[request.endpoint]
    refuse_cross_site_writes()
    if rule in (RouteRule.ANYONE, RouteRule.NGINX):
        return
    if rule is RouteRule.NODE:
        authenticate_node()
        return
    if rule is RouteRule.METRICS_READER:
        check_metrics_access()
        return
    if is_api_request():
        authenticate_by_token()
    elif not current_user.is_authenticated:
        raise NotSignedIn
    note_request_reader()
    actor = current_actor()
    if rule is RouteRule.ADMINISTRATOR and not actor.is_administrator:
        raise Forbidden("forbidden.administrators_only")


def refuse_cross_site_writes() -> None:
    """Refuses writes from a page on another port of this host, such as a notebook, because the browser sends our cookie
    with them.
    """
    if request.method not in SAFE_METHODS and request.headers.get("Sec-Fetch-Site") in (
        "same-site",
        "cross-site",
    ):
        raise Forbidden("forbidden.other_site")


def authenticate_node() -> None:
    """Authenticates the node that sends the request; raises NotSignedIn for everybody else."""
    token = node_tokens.read_node_token(current_cluster(), bearer_token())
    if token is None:
        raise NotSignedIn
    g.node_token = token


def check_metrics_access() -> None:
    """A request that some proxy has passed on comes from elsewhere, whatever its address. Raises Forbidden."""
    settings = current_cluster().settings
    if settings.metrics_token:
        if hmac.compare_digest(bearer_token().encode(), settings.metrics_token.encode()):
            return
        raise Forbidden("forbidden.metrics_token")
    # Our own nginx adds the address that it sees; another one before it means that somebody else's proxy passed it on.
    passed_by = request.headers.get("X-Forwarded-For", "").count(",") + ("X-Forwarded-For" in request.headers)
    is_passed_on = passed_by > settings.is_behind_proxy
    if is_passed_on or not is_loopback(client_address()):
        raise Forbidden("forbidden.metrics_elsewhere")


def is_loopback(text: str) -> bool:
    try:
        return ip_address(text).is_loopback
    except ValueError:
        return False


def bearer_token() -> str:
    """The token of the Authorization header; empty if the request has none."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def authenticate_by_token() -> None:
    """REST takes a bearer token; a browser's session may read, so that a person can open an answer in the browser."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        actor = api_tokens.authenticate_api_token(
            current_cluster(), text.strip(), client_address(), current_request_id()
        )
        if actor is None:
            raise NotSignedIn(api_tokens.token_refusal_code(current_cluster(), text.strip()))
        if request.method not in SAFE_METHODS and actor.scopes is not None and "write" not in actor.scopes:
            raise Forbidden("forbidden.token_reads_only")
        g.actor = actor
    elif not (request.method in SAFE_METHODS and current_user.is_authenticated):
        raise NotSignedIn
