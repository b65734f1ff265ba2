"""The dashboard: alerts, occupancy of the cluster, the queue and the reader's own jobs."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from cluster.services.jobs import queries, state_counts
from cluster.services.nodes import queries as nodes
from cluster.services.operations import queries as operation_queries
from cluster.services.queue import queries as queue
from cluster.services.storage.disk_space import read_disk_usage
from cluster.services.workspaces import queries as workspace_queries
from portal.i18n.translate import now
from portal.presenters.alerts import read_alert_lines
from portal.presenters.unit_bars import (
    MOST_NODES_DRAWN,
    count_units_by_status,
    totals_by_node_state,
    workspace_legend,
)
from portal.presenters.waiting_texts import store_explanations, summarise_queue
from portal.presenters.workspace_page import active_workspaces, ending_workspaces
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
    views = read_once(nodes.list_nodes)
    workspaces = read_once(workspace_queries.list_workspace_summaries)
    own_jobs = queries.list_jobs(cluster, actor, user_id=actor.user_id, limit=JOBS_SHOWN)
    queue_summary = queue.read_queue_summary(cluster, own_jobs)
    store_explanations(queue_summary.explanations)
    return render_template(
        "dashboard/_dashboard.html" if is_fragment_request() else "dashboard/page.html",
        lines=read_alert_lines(),
        checked=now(),
        nodes=views,
        node_totals=totals_by_node_state(views) if len(views) > MOST_NODES_DRAWN else [],
        ready=sum(node.can_take_jobs for node in views),
        shares=count_units_by_status(views),
        legend=workspace_legend(views),
        living=read_once(state_counts.count_live_jobs),
        line=summarise_queue(queue_summary),
        operations=operation_queries.list_operations(cluster, actor, limit=OPERATIONS_SHOWN),
        disk=read_disk_usage(cluster.settings.state_dir) if actor.is_administrator else None,
        ending=ending_workspaces(workspaces),
        workspaces=active_workspaces(workspaces),
        use=workspace_queries.read_units_in_use_of(cluster, [workspace.id for workspace in workspaces]),
        mine=own_jobs,
        has_workspaces=bool(workspaces),
    )


@blueprint.app_template_global("storage_path")
def storage_path() -> str:
    return str(current_cluster().settings.state_dir)
