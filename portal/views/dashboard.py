"""The dashboard: alerts, occupancy of the cluster, the queue and the reader's own jobs."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from cluster.services.backups import manifests
from cluster.services.jobs import queries
from cluster.services.nodes.totals import count_nodes, read_node_map, read_totals_of_everybody
from cluster.services.operations import queries as operation_queries
from cluster.services.storage.disk_space import read_disk_usage
from cluster.services.workspaces import queries as workspace_queries
from portal.i18n.translate import now
from portal.presenters.alerts import read_alert_panel
from portal.presenters.guidance.first_steps import list_first_steps, newest_active_job
from portal.presenters.nodes.unit_bars import (
    MOST_NODES_DRAWN,
    count_units_by_status,
    node_bars,
    totals_by_node_state,
    workspace_legend,
)
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
    everybody = recent_values().read(EVERYBODY, "totals", lambda: read_totals_of_everybody(cluster))
    in_use = recent_values().read(
        EVERYBODY, "units in use", lambda: workspace_queries.read_units_in_use_of_everybody(cluster)
    )
    drawn, totals = read_node_map(cluster, actor, MOST_NODES_DRAWN, everybody)
    workspaces = read_once(workspace_queries.list_workspace_summaries)
    own_jobs = queries.list_jobs(cluster, actor, user_id=actor.user_id, limit=JOBS_SHOWN)
    waiting_texts.read_explanations(own_jobs)
    active = active_workspaces(workspaces)
    return render_template(
        "dashboard/_dashboard.html" if is_fragment_request() else "dashboard/page.html",
        alerts=read_alert_panel(),
        checked=now(),
        node_count=totals.node_count,
        drawn_nodes=[(node, node_bars(node)) for node in drawn],
        node_totals=totals_by_node_state(totals) if totals.node_count > MOST_NODES_DRAWN else [],
        ready=count_nodes([total for total in totals.nodes if total.can_take_jobs]),
        shares=count_units_by_status(totals),
        legend=workspace_legend(totals),
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
