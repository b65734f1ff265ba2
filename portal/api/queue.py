"""The queue over REST, in the same order and with the same sentences as the queue's page."""

from typing import Any

from flask.views import MethodView

from cluster.services.queue import queries
from cluster.services.queue.queries import QueueFilters, QueueView, WaitingJob
from cluster.services.queue.running_jobs import RunningJob
from portal.api.blueprint import ApiBlueprint, describe_named
from portal.api.jobs.situation_answers import describe_wait_explanation
from portal.api.schemas import QueueAnswer, QueueQuery
from portal.web import queue_params
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("queue", "The queue: who waits, in which order and why; who runs.")
FRONT = "front-"
RUN = "run-"


@blueprint.route("")
class TheQueue(MethodView):
    @blueprint.arguments(QueueQuery, location="query")
    @blueprint.response(200, QueueAnswer)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """Returns one page of waiting jobs in the order of the queue, the count of each waiting reason, and the running
        jobs, the one that ends first on top.

        The queue of all workspaces begins with the first jobs of each, in the order in which they get their turns.
        """
        actor, cursor = current_actor(), query["cursor"]
        is_front, is_run = cursor.startswith(FRONT), cursor.startswith(RUN)
        filters = QueueFilters(
            workspace_id=query["workspace_id"],
            user_id=actor.user_id if query["mine"] else None,
            reason=query["reason"],
            state=query["state"],
            after=None if is_front or is_run else queue_params.parse_queue_cursor(cursor),
            after_head=queue_params.parse_head_cursor(cursor.removeprefix(FRONT)) if is_front else None,
            after_run=queue_params.parse_queue_cursor(cursor.removeprefix(RUN)) if is_run else None,
            limit=query["limit"],
        )
        view = queries.read_queue(current_cluster(), actor, filters)
        return {
            "waiting": [describe_waiting_job(one) for one in view.waiting],
            "next_cursor": next_cursor(view, filters),
            "reasons": [{"code": one.code, "count": one.count, "more": one.is_more} for one in view.reasons],
            "running": [describe_running_job(one) for one in view.running],
            "more_running": view.next_after_run is not None,
        }


def next_cursor(view: QueueView, filters: QueueFilters) -> str | None:
    """The cursor of the waiting jobs; of the running ones if only these were requested."""
    if filters.state == "running":
        return (
            None
            if view.next_after_run is None
            else f"{RUN}{queue_params.format_queue_cursor(view.next_after_run)}"
        )
    if view.next_after_head is not None:
        return f"{FRONT}{view.next_after_head}"
    return queue_params.format_queue_cursor(view.next_after)


def describe_waiting_job(one: WaitingJob) -> dict[str, Any]:
    job = one.job
    return {
        "id": one.id,
        "job": describe_named(job),
        "workspace": {"id": job.workspace_id, "name": job.workspace_name} if job else None,
        "user": {"id": job.user_id, "name": job.user_name} if job else None,
        "units": one.units,
        "submitted_at": job.submitted_at if job else None,
        "waiting": describe_wait_explanation(one.explanation) if job else None,
    }


def describe_running_job(one: RunningJob) -> dict[str, Any]:
    return {
        "job": describe_named(one.job),
        "units": one.units,
        "nodes": list(one.nodes),
        "progress": one.share_done,
        "started_at": one.started_at,
        "ends_at": one.ends_at,
    }
