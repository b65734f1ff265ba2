"""The dashboard: alerts, occupancy of the cluster, the queue and the reader's own jobs."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from cluster.services.backups import manifests
from cluster.services.jobs import queries
from cluster.services.operations import queries as operation_queries
from cluster.services.storage.disk_space import read_disk_usage
from cluster.services.workspaces import queries as workspace_queries
from portal.i18n.translate import now
from portal.presenters.alerts import read_alert_panel
from portal.presenters.guidance.first_steps import list_first_steps, newest_active_job
from portal.presenters.nodes.occupancy import read_occupancy
from portal.presenters.queue import queue_summary, waiting_texts
from portal.presenters.workspace_page import active_workspaces, ending_workspaces
from portal.recent_values import EVERYBODY, recent_values
from portal.web.request_context import (
    current_actor,
    current_cluster,
    is_fragment_request,
    read_once,
)

blueprint = Blueprint("dashboard", __name__)

OPERATIONS_SHOWN = 5
JOBS_SHOWN = 8


@blueprint.get("/")
def home() -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    in_use = recent_values().read(
        EVERYBODY, "units in use", lambda: workspace_queries.read_units_in_use_of_everybody(cluster)
    )
    workspaces = read_once(workspace_queries.list_workspace_summaries)
    own_jobs = queries.list_jobs(cluster, actor, user_id=actor.user_id, limit=JOBS_SHOWN)
    waiting_texts.read_explanations(own_jobs)
    active = active_workspaces(workspaces)
    return render_template(
        "dashboard/_dashboard.html" if is_fragment_request() else "dashboard/page.html",
        alerts=read_alert_panel(),
        checked=now(),
        occupancy=read_occupancy(),
        line=queue_summary.summarise_queue(queue_summary.read_recent_queue_summary()),
        operations=operation_queries.list_operations(cluster, actor, limit=OPERATIONS_SHOWN),
        disk=read_disk_usage(cluster.settings.state_dir) if actor.is_administrator else None,
        backups=manifests.list_backups(cluster, actor) if actor.is_administrator else [],
        ending=ending_workspaces(workspaces),
        workspaces=active,
        first_steps=list_first_steps(workspaces, active, own_jobs),
        last_job=newest_active_job(own_jobs, active),
        use={workspace.id: in_use.get(workspace.id, 0) for workspace in workspaces},
        mine=own_jobs,
        has_workspaces=bool(workspaces),
    )


@blueprint.app_template_global("storage_path")
def storage_path() -> str:
    return str(current_cluster().settings.state_dir)
