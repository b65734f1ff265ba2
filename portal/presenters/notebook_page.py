"""The values of a notebook's page: its progress, the reason why it waits, and the time of its stop."""

from dataclasses import dataclass
from datetime import datetime

from cluster.domain.notebooks.addresses import NotebookSeparation
from cluster.domain.people.actor import Actor
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.notebooks.notebook_rows import NotebookState
from portal.i18n.translate import _
from portal.presenters.queue import queue_page
from portal.presenters.queue.queue_page import QueueRow

WAITING, STARTING, ANSWERING = 0.05, 0.35, 0.7
"""The part of the bar that is filled in each step."""


@dataclass(frozen=True)
class NotebookStep:
    """One line of the way to an open notebook, as the macro `steps` shows it."""

    word: str
    state: str
    answer: str = ""


@dataclass(frozen=True)
class NotebookView:
    steps: tuple[NotebookStep, ...]
    part: float
    """The share of the way that is done, 0 to 1."""
    line: QueueRow | None
    """The place in the queue while the notebook waits."""
    stops_at: datetime | None
    """The time at which the notebook is stopped if nobody uses it."""
    shares_host: bool
    """Whether the notebook and the portal have the same host name, so that only the port separates them."""


def read_notebook_page(cluster: Cluster, actor: Actor, state: NotebookState) -> NotebookView:
    job = state.job
    done = progress_of(state)
    words = (
        _("Waits in the queue"),
        _("Starts on a node"),
        _("JupyterLab gets ready"),
        _("JupyterLab is ready"),
    )
    steps = tuple(
        NotebookStep(
            word, "done" if place < done else "now" if place == done and state.is_live else "to-come"
        )
        for place, word in enumerate(words)
    )
    return NotebookView(
        steps=steps,
        part=(WAITING, STARTING, ANSWERING, 1.0, 1.0)[done],
        line=queue_page.queue_row_of_job(cluster, actor, job) if job.state is JobState.WAITING else None,
        stops_at=state.notebook.stops_at if state.is_ready else None,
        shares_host=cluster.settings.notebooks.separation is NotebookSeparation.OWN_PORT,
    )


def progress_of(state: NotebookState) -> int:
    """Returns the number of steps that are done."""
    if state.is_ready:
        return 4
    return {JobState.WAITING: 0, JobState.STARTING: 1, JobState.RUNNING: 2}.get(state.job.state, 4)
