"""Shows what the runbook knows about a failed job or operation: the cause, the log line and a link to the repair."""

from dataclasses import dataclass

from flask import Flask, url_for

from cluster.domain.repairs.runbook import SymptomMatch
from cluster.domain.states import JobState
from cluster.services.repairs.catalogue import list_offered_repairs
from cluster.services.repairs.runbook import find_symptom
from cluster.store.operations import Operation
from portal.i18n.translate import request_language
from portal.presenters.jobs.job_page import JobView
from portal.web.request_context import current_actor, current_cluster


@dataclass(frozen=True)
class KnownProblem:
    """A known cause. `href` leads to the repair's preview if this person may request it, else it is empty."""

    cause: str
    line: str
    href: str
    repair: str


def init_app(app: Flask) -> None:
    app.add_template_global(known_problem_of_job)
    app.add_template_global(known_problem_of_operation)


def known_problem_of_job(view: JobView) -> KnownProblem | None:
    """Matches how the job ended and the last lines of the log that says why. A symptom that the table of failures
    explains already (cluster/domain/jobs/failures/failure_symptoms.py) is shown only if there is a repair for it.
    """
    if view.job.state is not JobState.FAILED:
        return None
    lines = view.failure.tail if view.failure else ()
    known = known_problem_of(find_symptom(current_cluster(), view.job.end_code or "", lines))
    is_explained = view.failure is not None and view.failure.cause.symptom is not None
    return None if known and is_explained and not known.href else known


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
