"""The queue: who waits, in the true order and why; who runs and until when."""

from flask import Blueprint
from werkzeug.wrappers import Response

from cluster.services import queue
from portal import filters, queue_page
from portal.current import current_actor, current_cluster
from portal.pieces import page_or_piece

blueprint = Blueprint("queue", __name__)


@blueprint.get("/queue")
def page() -> Response:
    """`?open=<job id>` shows one job node by node."""
    cluster, actor = current_cluster(), current_actor()
    now = cluster.clock()
    view = queue.read_queue(cluster, actor)
    waiting = queue_page.lines_of(view, now)
    opened = next((line for line in waiting if line.job and line.job.id == filters.number("open")), None)
    return page_or_piece(
        "queue/page.html",
        "queue/_queue.html",
        waiting=waiting,
        running=queue_page.runs_of(cluster, view, now),
        opened=opened,
        shorts=queue_page.shorts_of(view.nodes, opened.units) if opened else [],
    )
