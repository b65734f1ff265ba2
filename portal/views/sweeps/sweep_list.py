"""The list of sweeps."""

from flask import Blueprint
from werkzeug.wrappers import Response

from cluster.services.sweeps.sweep_list import list_sweep_lines
from cluster.services.workspaces.queries import list_workspace_summaries
from portal.web import query_params
from portal.web.request_context import current_actor, current_cluster, read_once
from portal.web.responses.fragments import render_page_or_fragment

PAGE_LENGTH = 50

blueprint = Blueprint("sweep_list", __name__)


@blueprint.get("/sweeps")
def index() -> Response:
    """Filters and place in the list are in the address. One row more than a page has is read, which shows whether a
    next page exists.
    """
    cluster, actor = current_cluster(), current_actor()
    chosen = {name: query_params.id_param(name) for name in ("workspace", "training", "user")}
    found = list_sweep_lines(
        cluster,
        actor,
        workspace_id=chosen["workspace"],
        training_id=chosen["training"],
        user_id=chosen["user"],
        before_id=query_params.id_param("before"),
        limit=PAGE_LENGTH + 1,
    )
    rows, next_before = query_params.split_page(found, PAGE_LENGTH)
    return render_page_or_fragment(
        "sweeps/list.html",
        "sweeps/_list.html",
        sweeps=rows,
        next_before=next_before,
        chosen=chosen,
        workspaces=read_once(list_workspace_summaries),
        current_url_with=query_params.current_url_with,
    )
