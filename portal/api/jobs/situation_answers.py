"""The situation of a job as REST returns it: why it waits, when it starts, or how it has ended."""

from typing import Any

from cluster.domain.queue.explanations import WaitingExplanation
from cluster.domain.states import JobState
from cluster.services.jobs.queries import JobRecord
from cluster.services.jobs.start_delays import read_start_delay
from cluster.services.queue import queries
from cluster.store.jobs import Job
from portal.api.blueprint import describe_sentence
from portal.i18n.messages import localized_word
from portal.web.request_context import current_cluster


def describe_reason(
    job: Job | JobRecord, explanation: WaitingExplanation | None = None
) -> dict[str, Any] | None:
    """Describes why the job waits. Without `explanation` it reads the explanation of this one job."""
    if job.state is not JobState.WAITING:
        return None
    if explanation is None:
        explanation = queries.read_waiting_explanation(current_cluster(), job)
    return describe_wait_explanation(explanation)


def describe_start_delay(job: Job) -> dict[str, Any] | None:
    """Describes the delay without Kubernetes' own message, which pages show to administrators alone."""
    delay = read_start_delay(current_cluster(), job)
    if delay is None:
        return None
    return describe_sentence(delay.code, {key: value for key, value in delay.data.items() if key != "said"})


def describe_wait_explanation(explanation: WaitingExplanation) -> dict[str, Any]:
    sentence = describe_sentence(explanation.code, dict(explanation.data))
    assert sentence is not None
    return sentence


def describe_situation(job: Job) -> dict[str, Any]:
    """The job's state with the reason why it waits or has not begun, or how it ended."""
    reason = (
        describe_reason(job) or describe_start_delay(job) or describe_sentence(job.end_code, job.end_data)
    )
    word = localized_word("state.job", job.state.value)
    return {"state": job.state.value, "state_word": word, "reason": reason}
