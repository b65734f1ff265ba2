"""Which event leads a job from which state to which; every other pair is refused."""

import pytest

from cluster.domain.errors import Conflict
from cluster.domain.jobs.lifecycle import TRANSITIONS, JobEventKind, next_state
from cluster.domain.states import ENDED_JOB_STATES, JobState

S, E = JobState, JobEventKind


@pytest.mark.parametrize(
    ("state", "event", "after"),
    [
        (S.WAITING, E.PLACED, S.STARTING),
        (S.STARTING, E.STARTED, S.RUNNING),
        (S.RUNNING, E.FINISHED, S.FINISHED),
        (S.WAITING, E.STOP_REQUESTED, S.STOPPED),  # Nothing runs.
        (S.RUNNING, E.STOP_REQUESTED, S.STOPPING),
        (S.RUNNING, E.INTERRUPTED, S.WAITING),
        (S.RUNNING, E.RETRIED, S.WAITING),
        (S.STOPPING, E.INTERRUPTED, S.STOPPED),  # It was to be stopped: it does not come back.
        (S.STOPPING, E.FINISHED, S.FINISHED),
        (S.STARTING, E.FINISHED, S.FINISHED),
    ],
)
def test_an_event_leads_to_the_next_state(state: JobState, event: JobEventKind, after: JobState) -> None:
    assert next_state(state, event) is after


@pytest.mark.parametrize("state", JobState)
@pytest.mark.parametrize("event", JobEventKind)
def test_every_other_event_is_refused(state: JobState, event: JobEventKind) -> None:
    if (state, event) in TRANSITIONS:
        assert state not in ENDED_JOB_STATES
        assert next_state(state, event) is TRANSITIONS[state, event]
        return
    with pytest.raises(Conflict) as refused:
        next_state(state, event)
    assert refused.value.code == ("job.ended" if state in ENDED_JOB_STATES else "job.not_now")
    assert refused.value.data == {"state": state.value, "event": event.value}
