"""One log file of a job over REST, by byte offset."""

from typing import Any

from flask import Response
from flask.views import MethodView

from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.jobs.file_deletions import read_attempt_with_files
from portal.api.jobs.jobs import blueprint
from portal.api.schemas import LogQuery
from portal.job_files.folders import out_path_parts
from portal.job_files.logs.log_chunks import read_log_chunk
from portal.web.request_context import current_actor, current_cluster


@blueprint.route("/<int:job_id>/log")
class Log(MethodView):
    @blueprint.arguments(LogQuery, location="query")
    @blueprint.response(200, content_type="text/plain")
    def get(self, query: dict[str, Any], job_id: int) -> Response:
        """Returns at most 256 KiB of one log file from a byte offset; a negative one counts from the end.

        X-Log-Next is the offset to ask for next, X-Log-Size how long the file is now.
        """
        cluster = current_cluster()
        number = query["attempt"] or None
        attempt = read_attempt_with_files(cluster, current_actor(), job_id, number)
        folder = out_path_parts(attempt.workspace_id, job_id, attempt.number)
        name = f"{query['source']}.{query['stream']}"
        try:
            with open_file_beneath(cluster.settings.storage_dir, *folder, name) as file:
                chunk = read_log_chunk(file, query["offset"])
            data, start, following, size = chunk.data, chunk.start, chunk.next, chunk.size
        except (FileMissing, FileNotPlain):
            data, start, following, size = b"", 0, 0, 0
        answer = Response(data, content_type="text/plain; charset=utf-8")
        for name, value in (("Start", start), ("Next", following), ("Size", size)):
            answer.headers[f"X-Log-{name}"] = str(value)
        return answer
