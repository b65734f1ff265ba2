"""Asks running notebooks whether they answer and when they were used, in threads that may hang."""

import os
import stat
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog

from cluster.domain.notebooks.jupyter_server import FILES, base_path
from cluster.files.safe_read import FileMissing, FileNotPlain, open_folder_beneath
from cluster.services.context import Cluster
from cluster.services.leases import HeldLease
from cluster.services.notebooks.notebook_rows import list_living_attempts, list_running, list_unanswered
from cluster.services.notebooks.use import NotebookUse, record_use
from cluster.services.storage import folders
from cluster.services.storage.notebook_folders import (
    remove_socket_folders_except,
    socket_path,
    working_copy_parts,
)
from cluster.store.jobs import Attempt, Job, Notebook
from worker.adapters.jupyter_status import JupyterServer
from worker.executors.contract import Executor
from worker.scheduling.notebooks.working_copy_deletions import WorkingCopyDeletions

log = structlog.get_logger()
ASKED_AT_ONCE = 4
USE_ASKED_EVERY = 30.0
"""Seconds between two questions to a notebook that has answered."""
READY_ASKED_EVERY = 0.2
ALL_READ_EVERY = 5.0
"""Seconds between two reads of all running notebooks. Those that have not answered yet are read in each pass."""
REMOVED_EVERY = 60.0
"""Seconds between two searches for sockets and working copies that are no longer needed."""
MOST_FILES = 1_000
"""The number of files of a working copy that are read for the time of the last save."""


@dataclass(frozen=True)
class Question:
    job: int
    attempt: int
    server: JupyterServer
    files: tuple[str, ...]
    """The folder of the person's files below the storage."""
    is_ready: bool


class NotebookWatch:
    """Asks in each pass of the scheduler, and records the answers in the pass after it.

    `wake` begins a pass: the person waits for the first answer of a notebook.
    """

    def __init__(
        self,
        cluster: Cluster,
        executor: Executor,
        wake: Callable[[], None],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cluster = cluster
        self.executor = executor
        self.wake = wake
        self.steady = steady
        self.pool = ThreadPoolExecutor(ASKED_AT_ONCE, "notebook")
        self.asked: dict[int, Future[NotebookUse | None]] = {}
        self.asked_at: dict[int, float] = {}
        self.read_at = float("-inf")
        self.removed_at = steady()
        self.has_first_answer = False
        self.copies = WorkingCopyDeletions(cluster)

    def advance(self, held: HeldLease) -> None:
        """Raises LeaseLost."""
        record_use(self.cluster, held, self.take_answers())
        for question in self.read_questions():
            self.ask(question)
        if self.steady() - self.removed_at >= REMOVED_EVERY:
            self.removed_at = self.steady()
            with self.cluster.store.read() as session:
                living = {f"{job}-{attempt}" for job, attempt in list_living_attempts(session)}
            remove_socket_folders_except(self.cluster.settings, living)
            self.copies.advance(held)

    def read_questions(self) -> list[Question]:
        reads_all = self.steady() - self.read_at >= ALL_READ_EVERY
        with self.cluster.store.read() as session:
            rows = list_running(session) if reads_all else list_unanswered(session)
            questions = [self.question(*each) for each in rows]
        if reads_all:
            self.read_at = self.steady()
            self.asked_at = {q.job: self.asked_at[q.job] for q in questions if q.job in self.asked_at}
        return questions

    def take_answers(self) -> dict[int, NotebookUse]:
        """Returns the use by job id. No answer of a person's server may end the scheduler."""
        self.has_first_answer = False
        done = [job for job, future in self.asked.items() if future.done()]
        uses = {}
        for job in done:
            future = self.asked.pop(job)
            if error := future.exception():
                log.error("a notebook could not be asked", job=job, exc_info=error)
            elif use := future.result():
                uses[job] = use
        return uses

    def question(self, job: Job, attempt: Attempt, notebook: Notebook) -> Question:
        settings = self.cluster.settings
        is_local = settings.executor.capabilities.is_local
        folder = folders.attempt_folder(settings, job.workspace_id, job.id, attempt.number)
        address = notebook.address or ("" if is_local else self.executor.find_notebook(folder))
        socket = socket_path(settings, job.id, attempt.number) if is_local else None
        files = (*working_copy_parts(job.workspace_id, job.training_id, job.user_id), FILES)
        server = JupyterServer(base_path(job.id), notebook.token, socket, address)
        return Question(job.id, attempt.number, server, files, notebook.ready_attempt == attempt.number)

    def ask(self, question: Question) -> None:
        pause = USE_ASKED_EVERY if question.is_ready else READY_ASKED_EVERY
        before = self.asked_at.get(question.job)
        if question.job in self.asked or (before is not None and self.steady() - before < pause):
            return
        self.asked_at[question.job] = self.steady()
        future = self.pool.submit(partial(answer, self.cluster, question))
        self.asked[question.job] = future
        if not question.is_ready:
            future.add_done_callback(self.note_first_answer)

    def note_first_answer(self, future: Future[NotebookUse | None]) -> None:
        """Notes the first answer and wakes the scheduler. It runs in a thread of the pool."""
        if not future.cancelled() and future.exception() is None and future.result() is not None:
            self.has_first_answer = True
            self.wake()

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.copies.close()


def answer(cluster: Cluster, question: Question) -> NotebookUse | None:
    """Asks a notebook's server, in a thread. None if the server does not answer."""
    if not question.is_ready:
        if not (question.server.path or question.server.address) or not question.server.is_ready():
            return None
        return NotebookUse(question.attempt, None, address=question.server.address or None)
    status = question.server.read_status()
    saved = read_last_save(cluster, question.files)
    times = [moment for moment in (status.used_at if status else None, saved) if moment is not None]
    return NotebookUse(question.attempt, max(times, default=None), status is not None and status.is_busy)


def read_last_save(cluster: Cluster, files: tuple[str, ...]) -> datetime | None:
    """The time at which a file at the top of the working copy was last written. Times in the future do not count."""
    newest = 0.0
    try:
        with (
            open_folder_beneath(cluster.settings.storage_dir, *files) as folder,
            os.scandir(folder) as entries,
        ):
            for number, entry in enumerate(entries):
                if number >= MOST_FILES:
                    break
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and status.st_mtime <= time.time():
                    newest = max(newest, status.st_mtime)
    except (OSError, FileMissing, FileNotPlain):
        return None
    return datetime.fromtimestamp(newest, UTC) if newest else None
