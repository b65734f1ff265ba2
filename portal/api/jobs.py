"""Jobs over REST: submit, list, show, explain, read logs, reorder, stop and delete files."""

import hashlib
from datetime import timedelta
from typing import Any

from flask import Response, request, url_for
from flask.views import MethodView

from cluster import words
from cluster.domain.errors import NotFound, Refused
from cluster.domain.jobs.submission import JobRequest, default_launcher
from cluster.domain.queue.reasons import NotYetExamined, to_waiting_data
from cluster.domain.states import JobState
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.jobs import file_deletions, preview, stop_requests, submission
from cluster.services.jobs import queries as job_queries
from cluster.services.jobs.start_delays import read_start_delay
from cluster.services.queue import holds_and_moves, queries
from cluster.services.queue.waiting_explanations import WaitingExplanation
from cluster.store.jobs import Job
from portal.api.blueprint import ApiBlueprint, describe_named, describe_sentence
from portal.api.schemas import (
    DeleteFilesBody,
    DryRunQuery,
    JobAnswer,
    JobBody,
    JobList,
    JobQuery,
    LogQuery,
    MoveBody,
    WhyAnswer,
)
from portal.i18n.translate import request_language
from portal.job_files.folders import out_path_parts
from portal.job_files.log_chunks import read_log_chunk
from portal.presenters.unit_words import installation_unit_kind
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("jobs", "Jobs: one run of a training each.")
LONGEST_KEY = 100
JUST_NOW = timedelta(seconds=2)
"""A repeated request after that is told how its job stands by now."""


def read_idempotency_key() -> tuple[str, str] | None:
    """The Idempotency-Key and the hash of address and body; raises Refused for a key that no client would make."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not key.isascii() or not key.isprintable() or not 1 <= len(key) <= LONGEST_KEY:
        raise Refused("Idempotency-Key", "idempotency.bad_key", most=LONGEST_KEY)
    return key, hashlib.sha256(request.path.encode() + b"\0" + request.get_data()).hexdigest()


def describe_job(job: Job, standing: WaitingExplanation | None = None) -> dict[str, Any]:
    """`standing` of one that waits: without it the reason is read for this one job."""
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state.value,
        "state_word": words.word("state.job", job.state.value, request_language()),
        "workspace": describe_named(job.workspace),
        "training": describe_named(job.training),
        "user": describe_named(job.user),
        "dataset": describe_named(job.dataset),
        "units": job.units,
        "unit_kind": installation_unit_kind().value,
        "launcher": job.launcher.value,
        "command": job.command,
        "variables": job.variables,
        "priority": job.priority,
        "time_limit_seconds": job.time_limit_seconds,
        "grace_seconds": job.grace_seconds,
        "retries": job.retries,
        "memory_bytes": job.memory_bytes,
        "retries_used": job.retries_used,
        "resumes_from": job.resume_from,
        "submitted_at": job.submitted_at,
        "dispatched_at": job.dispatched_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "attempts": job.fence,
        "exit_code": job.exit_code,
        "held_at": job.held_at if job.state is JobState.WAITING else None,
        "waiting": describe_reason(job, standing),
        "end": describe_sentence(job.end_code, job.end_data),
        "storage_bytes": job.storage_bytes,
        "files_deleted": describe_sentence(
            file_deletions.deletion_code(job), file_deletions.deletion_data(job)
        )
        if job.files_unwanted_at
        else None,
        "url": f"{current_cluster().settings.public_url}/jobs/{job.id}",
    }


def describe_reason(job: Job, standing: WaitingExplanation | None = None) -> dict[str, Any] | None:
    """Told at this moment; with the expected start and what would help where one job is asked about."""
    if job.state is not JobState.WAITING:
        return None
    if standing is None:
        standing, _nodes = queries.read_waiting_explanation(current_cluster(), job)
    return describe_wait_explanation(standing)


def describe_start_delay(job: Job) -> dict[str, Any] | None:
    """Administrators also see Kubernetes' own message if there is no sentence for it."""
    found = read_start_delay(current_cluster(), job)
    if found is None:
        return None
    return describe_sentence(found.code, {key: value for key, value in found.data.items() if key != "said"})


def describe_wait_explanation(standing: WaitingExplanation) -> dict[str, Any]:
    """A job whose turn has come waits for the scheduler's next look."""
    found = describe_sentence(standing.code or NotYetExamined.code, standing.data)
    assert found is not None
    return found


def parse_job_body(body: dict[str, Any]) -> JobRequest:
    return JobRequest(
        name=body["name"],
        units=body["units"],
        launcher=body["launcher"] or default_launcher(body["units"]),
        command=tuple(body["command"]),
        variables=body["variables"],
        dataset_id=body["dataset_id"],
        priority=body["priority"],
        time_limit_seconds=body["time_limit_seconds"],
        grace_seconds=body["grace_seconds"],
        retries=body["retries"],
        memory_bytes=body["memory_bytes"],
    )


@blueprint.route("")
class Jobs(MethodView):
    @blueprint.arguments(JobQuery, location="query")
    @blueprint.response(200, JobList)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """Jobs that you may see, newest first."""
        actor = current_actor()
        rows = job_queries.list_jobs(
            current_cluster(),
            actor,
            states=parse_states(query["state"]),
            workspace_id=query["workspace_id"],
            training_id=query["training_id"],
            user_id=actor.user_id if query["mine"] else None,
            before_id=query["cursor"],
            limit=query["limit"] + 1,
        )
        page = rows[: query["limit"]]
        more = page[-1].id if len(rows) > len(page) else None
        standings = queries.read_waiting_explanations(current_cluster(), page)
        return {"items": [describe_job(job, standings.get(job.id)) for job in page], "next_cursor": more}

    @blueprint.arguments(DryRunQuery, location="query")
    @blueprint.arguments(JobBody)
    @blueprint.response(201, JobAnswer)
    def post(self, query: dict[str, Any], body: dict[str, Any]) -> Any:
        """Submit a job. With `dry_run=true` nothing is made: the answer says what would happen.

        A repeated request with the same Idempotency-Key gets the same job.
        """
        wanted = parse_job_body(body)
        cluster, actor = current_cluster(), current_actor()
        if query["dry_run"]:
            estimate = preview.preview_submission(cluster, actor, body["training_id"], wanted)
            reason = estimate.reason
            waiting = (
                describe_sentence(reason.code, to_waiting_data(reason, estimate.outlook)) if reason else None
            )
            warnings = [describe_sentence(warned.code, dict(warned.data)) for warned in estimate.warnings]
            return {"starts_now": estimate.starts_now, "waiting": waiting, "warnings": warnings}, 200
        job = submission.submit_job(cluster, actor, body["training_id"], wanted, read_idempotency_key())
        # Why it waits is a look at the whole queue: whoever wants to know asks once it has been looked at.
        is_new = cluster.clock() - job.submitted_at < JUST_NOW
        standing = WaitingExplanation(NotYetExamined()) if is_new else None
        return describe_job(job, standing), 201, {"Location": url_for("api_jobs.OneJob", job_id=job.id)}


def parse_states(text: str | None) -> list[JobState]:
    """Comma-separated; raises Refused naming the states that there are."""
    known = [state.value for state in JobState]
    chosen = [part.strip() for part in (text or "").split(",") if part.strip()]
    for part in chosen:
        if part not in known:
            raise Refused("state", "job.unknown_state", state=part, states=known)
    return [JobState(part) for part in chosen]


@blueprint.route("/<int:job_id>")
class OneJob(MethodView):
    @blueprint.response(200, JobAnswer)
    def get(self, job_id: int) -> dict[str, Any]:
        """One job with its state, its reason to wait and its result."""
        return describe_job(job_queries.read_job(current_cluster(), current_actor(), job_id))


@blueprint.route("/<int:job_id>/stop")
class Stop(MethodView):
    @blueprint.response(202, JobAnswer)
    def post(self, job_id: int) -> dict[str, Any]:
        """Ask for its end. A second wish changes nothing."""
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
        asked = file_deletions.request_file_deletion(cluster, actor, body["job_ids"])
        return {"items": [describe_job(job) for job in asked], "next_cursor": None}


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
    @blueprint.response(200, WhyAnswer)
    def get(self, job_id: int) -> dict[str, Any]:
        """Why it waits or has not begun, or how it ended, in one sentence made of data."""
        job = job_queries.read_job(current_cluster(), current_actor(), job_id)
        word = words.word("state.job", job.state.value, request_language())
        reason = (
            describe_reason(job) or describe_start_delay(job) or describe_sentence(job.end_code, job.end_data)
        )
        return {"state": job.state.value, "state_word": word, "reason": reason}


@blueprint.route("/<int:job_id>/log")
class Log(MethodView):
    @blueprint.arguments(LogQuery, location="query")
    @blueprint.response(200, content_type="text/plain")
    def get(self, query: dict[str, Any], job_id: int) -> Response:
        """At most 256 KiB of one log file from a byte offset; a negative one counts from the end.

        X-Log-Next is the offset to ask for next, X-Log-Size how long the file is now.
        """
        cluster = current_cluster()
        job = job_queries.read_job(cluster, current_actor(), job_id)
        file_deletions.require_files(job)
        attempt = query["attempt"] or job.fence
        if attempt and attempt not in [one.number for one in job.attempts]:
            raise NotFound("attempt", attempt)
        name = f"{query['source']}.{query['stream']}"
        try:
            with open_file_beneath(cluster.settings.storage_dir, *out_path_parts(job, attempt), name) as file:
                piece = read_log_chunk(file, query["offset"])
            data, start, following, size = piece.data, piece.start, piece.next, piece.size
        except (FileMissing, FileNotPlain):
            data, start, following, size = b"", 0, 0, 0
        answer = Response(data, content_type="text/plain; charset=utf-8")
        for name, value in (("Start", start), ("Next", following), ("Size", size)):
            answer.headers[f"X-Log-{name}"] = str(value)
        return answer
