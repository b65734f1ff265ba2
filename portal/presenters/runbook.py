"""Shows what the runbook knows about a failed job or operation: the cause, the log line and a link to the repair."""

from dataclasses import dataclass

from flask import Flask, url_for

from cluster.domain.repairs.runbook import SymptomMatch
from cluster.domain.states import JobState
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.repairs.catalogue import list_offered_repairs
from cluster.services.repairs.runbook import find_symptom
from cluster.store.operations import Operation
from portal.i18n.translate import request_language
from portal.job_files.log_chunks import read_log_chunk
from portal.presenters.jobs.job_page import JobView
from portal.web.request_context import current_actor, current_cluster

TAIL_BYTES = 16 * 1024


@dataclass(frozen=True)
class KnownProblem:
    """`href` leads to the repair's preview where this person may ask for it, else it is empty."""

    cause: str
    line: str
    href: str
    repair: str


def init_app(app: Flask) -> None:
    app.add_template_global(known_problem_of_job)
    app.add_template_global(known_problem_of_operation)


def known_problem_of_job(view: JobView) -> KnownProblem | None:
    """Matches how the job ended and the last stderr lines of the rank that failed."""
    if view.job.state is not JobState.FAILED:
        return None
    rank = (view.job.end_data or {}).get("rank", 0)
    lines = read_rank_stderr_tail(f"rank-{rank}.stderr", view)
    return known_problem_of(find_symptom(current_cluster(), view.job.end_code or "", lines))


def read_rank_stderr_tail(name: str, view: JobView) -> list[str]:
    try:
        with open_file_beneath(view.files.root, *view.files.out, name) as file:
            return read_log_chunk(file, -TAIL_BYTES).text.splitlines()
    except (FileMissing, FileNotPlain):
        return []


def known_problem_of_operation(operation: Operation, log_tail: str) -> KnownProblem | None:
    """Matches the operation's error code, its data and the last lines of its log."""
    if not operation.error_code:
        return None
    error_values = [str(value) for value in (operation.error_data or {}).values()]
    return known_problem_of(
        find_symptom(current_cluster(), operation.error_code, [*log_tail.splitlines(), *error_values])
    )


def known_problem_of(match: SymptomMatch | None) -> KnownProblem | None:
    if match is None:
        return None
    entry = None
    if current_actor().is_administrator and match.sign.repairs:
        offered = list_offered_repairs(current_cluster())
        entry = next((offered[name] for name in match.sign.repairs if name in offered), None)
    return KnownProblem(
        cause=match.sign.cause.in_language(request_language()),
        line=match.line,
        href=url_for("repairs.forecast", repair=entry.repair.name) if entry else "",
        repair=entry.repair.title.in_language(request_language()) if entry else "",
    )
