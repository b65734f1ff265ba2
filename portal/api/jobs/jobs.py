"""Jobs over REST: submit, list, show, explain, reorder, stop and delete files."""

from typing import Any

from flask import url_for
from flask.views import MethodView

from cluster.services.jobs import continuations, file_deletions, runs_table, stop_requests, submission
from cluster.services.jobs import queries as job_queries
from cluster.services.queue import holds_and_moves, queries, submission_preview
from portal.api.blueprint import ApiBlueprint
from portal.api.jobs.job_answers import describe_job, describe_one_job
from portal.api.jobs.job_bodies import parse_job_body, parse_states
from portal.api.jobs.job_failures import OneJobAnswer, OneWhyAnswer, describe_failure
from portal.api.jobs.situation_answers import describe_situation
from portal.api.jobs.submission_answers import describe_new_job, describe_preview
from portal.api.schemas import (
    DeleteFilesBody,
    DryRunQuery,
    JobAnswer,
    JobBody,
    JobList,
    JobQuery,
    MoveBody,
)
from portal.web.idempotency import read_idempotency_key
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("jobs", "Jobs: one run of a training each.")


@blueprint.route("")
class Jobs(MethodView):
    @blueprint.arguments(JobQuery, location="query")
    @blueprint.response(200, JobList)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """Jobs that you may see, newest first unless you ask for another order."""
        actor = current_actor()
        of = {
            "workspace_id": query["workspace_id"],
            "training_id": query["training_id"],
            "user_id": actor.user_id if query["mine"] else None,
        }
        wanted = runs_table.JobFilter(
            parse_states(query["state"]), of, query["tag"].lower(), query["metric"], query["search"]
        )
        rows = runs_table.list_run_records(
            current_cluster(), actor, wanted, query["order"], query["cursor"], query["limit"] + 1
        )
        page = rows[: query["limit"]]
        more = page[-1].id if len(rows) > len(page) else None
        explanations = queries.read_waiting_explanations(current_cluster(), page)
        return {"items": [describe_job(job, explanations.get(job.id)) for job in page], "next_cursor": more}

    @blueprint.arguments(DryRunQuery, location="query")
    @blueprint.arguments(JobBody)
    @blueprint.response(201, JobAnswer)
    @blueprint.alt_response(200, JobAnswer)
    def post(self, query: dict[str, Any], body: dict[str, Any]) -> Any:
        """Submit a job. With `dry_run=true` nothing is made: the answer says what would happen.

        A repeated request with the same Idempotency-Key gets the same job.
        """
        cluster, actor = current_cluster(), current_actor()
        if body["continue_from"] is not None:
            found = continuations.read_continuation(cluster, actor, body["continue_from"], body["name"])
            training_id, job_request = found.job.training_id, found.request
        else:
            training_id, job_request = body["training_id"], parse_job_body(body)
        if query["dry_run"]:
            estimate = submission_preview.preview_submission(cluster, actor, training_id, job_request)
            return describe_preview(estimate), 200
        job = submission.submit_job(cluster, actor, training_id, job_request, read_idempotency_key())
        return describe_new_job(job), 201, {"Location": url_for("api_jobs.OneJob", job_id=job.id)}


@blueprint.route("/<int:job_id>")
class OneJob(MethodView):
    @blueprint.response(200, OneJobAnswer)
    def get(self, job_id: int) -> dict[str, Any]:
        """One job with its state, its reason to wait, its result, and why it failed."""
        job = job_queries.read_job(current_cluster(), current_actor(), job_id)
        return describe_one_job(job) | {"failure": describe_failure(job)}


@blueprint.route("/<int:job_id>/stop")
class Stop(MethodView):
    @blueprint.response(202, JobAnswer)
    def post(self, job_id: int) -> dict[str, Any]:
        """Ask for its end. A second request changes nothing."""
        stop_requests.stop_job(current_cluster(), current_actor(), job_id)
        return describe_job(job_queries.read_job(current_cluster(), current_actor(), job_id))


@blueprint.route("/<int:job_id>/files")
class Files(MethodView):
    @blueprint.response(202, JobAnswer)
    def delete(self, job_id: int) -> dict[str, Any]:
        """Delete the files of an ended job: logs, graphs, checkpoints. Its row and its numbers stay."""
        file_deletions.request_file_deletion(current_cluster(), current_actor(), [job_id])
        return describe_job(job_queries.read_job(current_cluster(), current_actor(), job_id))


@blueprint.route("/delete-files")
class DeleteFiles(MethodView):
    @blueprint.arguments(DeleteFilesBody)
    @blueprint.response(202, JobList)
    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        """Delete the files of several ended jobs: of all of them, or of none where one is refused."""
        cluster, actor = current_cluster(), current_actor()
        jobs = file_deletions.request_file_deletion(cluster, actor, body["job_ids"])
        return {"items": [describe_job(job) for job in jobs], "next_cursor": None}


@blueprint.route("/<int:job_id>/hold")
class Hold(MethodView):
    @blueprint.response(200, JobAnswer)
    def post(self, job_id: int) -> dict[str, Any]:
        """Keep a waiting job from starting until it is let go. For the workspace's manager."""
        holds_and_moves.hold_job(current_cluster(), current_actor(), job_id)
        return describe_job(job_queries.read_job(current_cluster(), current_actor(), job_id))


@blueprint.route("/<int:job_id>/release")
class Release(MethodView):
    @blueprint.response(200, JobAnswer)
    def post(self, job_id: int) -> dict[str, Any]:
        """Let a held job go: it waits where it stood. For the workspace's manager."""
        holds_and_moves.release_job(current_cluster(), current_actor(), job_id)
        return describe_job(job_queries.read_job(current_cluster(), current_actor(), job_id))


@blueprint.route("/<int:job_id>/move")
class Move(MethodView):
    @blueprint.arguments(MoveBody)
    @blueprint.response(200, JobAnswer)
    def post(self, body: dict[str, Any], job_id: int) -> dict[str, Any]:
        """Another place in its workspace's line. For the workspace's manager."""
        holds_and_moves.move_job(current_cluster(), current_actor(), job_id, body["step"], body["before"])
        return describe_job(job_queries.read_job(current_cluster(), current_actor(), job_id))


@blueprint.route("/<int:job_id>/why")
class Why(MethodView):
    @blueprint.response(200, OneWhyAnswer)
    def get(self, job_id: int) -> dict[str, Any]:
        """Returns why the job waits or has not begun, or how it ended, in one sentence made of data; why it failed."""
        job = job_queries.read_job(current_cluster(), current_actor(), job_id)
        return describe_situation(job) | {"failure": describe_failure(job)}
