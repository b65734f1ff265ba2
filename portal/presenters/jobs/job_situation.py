"""The words for what a job waits for, when it ends, or how it has ended."""

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.queue.reasons import NotYetExamined
from cluster.domain.states import JobState
from cluster.services.jobs.queries import JobLine
from portal.i18n.messages import localized_sentence
from portal.i18n.translate import (
    _,
    localized_short_datetime,
    now,
)
from portal.presenters.queue.waiting_texts import localized_waiting_text

RUNNING_STATES = (JobState.RUNNING, JobState.STOPPING)


def situation(job: JobLine, explanation: WaitingExplanation | None) -> str:
    if job.state is JobState.WAITING:
        return localized_waiting_text(explanation or WaitingExplanation.of(NotYetExamined())).reason
    if job.state in RUNNING_STATES:
        if job.expected_end_at is None:
            return ""
        return _("ends about %(when)s", when=localized_short_datetime(max(job.expected_end_at, now())))
    if job.end_code and job.state is not JobState.FINISHED:
        return localized_sentence(job.end_code, job.end_data)
    lost = divergence_text(job)
    if lost:
        return lost
    return _("ended %(when)s", when=localized_short_datetime(job.ended_at)) if job.ended_at else ""


def divergence_text(job: JobLine) -> str:
    """The sentence that a loss became NaN or infinite in a job that finished nevertheless; empty if none did."""
    if job.state is not JobState.FINISHED or not (job.end_data or {}).get("not_finite"):
        return ""
    return localized_sentence("exit.not_finite", job.end_data)
