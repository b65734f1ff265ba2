"""How far a notebook is, from the queue to the browser."""

import pytest

from cluster.domain.states import JobState
from cluster.services.notebooks.notebook_rows import notebook_state
from cluster.store.jobs import Job, Notebook
from portal.presenters.notebook_page import progress_of


@pytest.mark.parametrize(
    ("state", "ready", "done"),
    [
        (JobState.WAITING, None, 0),
        (JobState.STARTING, None, 1),
        (JobState.RUNNING, None, 2),
        (JobState.RUNNING, 1, 2),
        (JobState.RUNNING, 2, 4),
        (JobState.STOPPED, 2, 4),
    ],
)
def test_each_state_has_its_place_on_the_way(state: JobState, ready: int | None, done: int) -> None:
    """The attempt is the second one."""
    assert progress_of(notebook_state(Job(state=state, fence=2), Notebook(ready_attempt=ready))) == done
