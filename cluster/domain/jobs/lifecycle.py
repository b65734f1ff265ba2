"""A job's states and the events that lead from one to the next."""

from enum import StrEnum

from cluster.domain.errors import Conflict
from cluster.domain.states import ENDED_JOB_STATES, JobState


class JobEventKind(StrEnum):
    """The events of a job's life. `cluster.domain.jobs.attempts` decides how it ended."""

    PLACED = "placed"
    STARTED = "started"
    STOP_REQUESTED = "stop_requested"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    RETRIED = "retried"
    """An attempt has failed and another one follows."""


_S, _E = JobState, JobEventKind

TRANSITIONS: dict[tuple[JobState, JobEventKind], JobState] = {
    (_S.WAITING, _E.PLACED): _S.STARTING,
    (_S.WAITING, _E.STOP_REQUESTED): _S.STOPPED,  # No attempt runs, so stopping takes effect at once.
    (_S.WAITING, _E.FAILED): _S.FAILED,
    (_S.STARTING, _E.STARTED): _S.RUNNING,
    (_S.STARTING, _E.STOP_REQUESTED): _S.STOPPING,
    (_S.STARTING, _E.FINISHED): _S.FINISHED,  # The attempt ended before it was observed running.
    (_S.STARTING, _E.FAILED): _S.FAILED,
    (_S.STARTING, _E.STOPPED): _S.STOPPED,
    (_S.STARTING, _E.INTERRUPTED): _S.WAITING,
    (_S.STARTING, _E.RETRIED): _S.WAITING,
    (_S.RUNNING, _E.RETRIED): _S.WAITING,
    (_S.RUNNING, _E.STARTED): _S.RUNNING,  # A run is adopted again after a restart.
    (_S.RUNNING, _E.STOP_REQUESTED): _S.STOPPING,
    (_S.RUNNING, _E.FINISHED): _S.FINISHED,
    (_S.RUNNING, _E.FAILED): _S.FAILED,
    (_S.RUNNING, _E.STOPPED): _S.STOPPED,
    (_S.RUNNING, _E.INTERRUPTED): _S.WAITING,
    (_S.STOPPING, _E.STARTED): _S.STOPPING,
    (_S.STOPPING, _E.STOP_REQUESTED): _S.STOPPING,
    (_S.STOPPING, _E.FINISHED): _S.FINISHED,  # The attempt ended by itself before the signal reached it.
    (_S.STOPPING, _E.FAILED): _S.FAILED,
    (_S.STOPPING, _E.STOPPED): _S.STOPPED,
    (_S.STOPPING, _E.INTERRUPTED): _S.STOPPED,  # A person stopped the job, so it does not wait again.
}


def next_state(state: JobState, event: JobEventKind) -> JobState:
    """Raises Conflict if the event is not possible in this state."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        code = "job.ended" if state in ENDED_JOB_STATES else "job.not_now"
        raise Conflict(code, state=state.value, event=event.value) from None
