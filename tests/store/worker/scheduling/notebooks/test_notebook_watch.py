"""The watch finds what answers, and a server that hangs holds up nobody."""

import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.services.leases import HeldLease
from cluster.services.storage import notebook_folders
from tests.conftest import SteadyClock
from tests.notebook_lab import NotebookLab
from worker.adapters import jupyter_status
from worker.adapters.jupyter_status import JupyterServer, JupyterStatus
from worker.executors.process import ProcessExecutor
from worker.scheduling.notebooks import notebook_watch
from worker.scheduling.notebooks.notebook_watch import NotebookWatch


@pytest.fixture
def woken() -> threading.Event:
    """Set once the watch has asked for a pass."""
    return threading.Event()


@pytest.fixture
def watch(
    lab: NotebookLab, steady: SteadyClock, tmp_path: Path, woken: threading.Event
) -> Iterator[NotebookWatch]:
    settings = lab.cluster.settings
    executor = ProcessExecutor(tmp_path, settings.storage_dir)
    made = NotebookWatch(lab.cluster, executor, woken.set, steady)
    yield made
    made.close()


def advance(watch: NotebookWatch, held: HeldLease) -> None:
    """Asks, and records what was answered."""
    watch.advance(held)
    for future in list(watch.asked.values()):
        future.result(timeout=5)
    watch.advance(held)


def test_it_is_ready_once_it_answers_and_its_use_is_asked_for_seldom(
    lab: NotebookLab,
    held: HeldLease,
    watch: NotebookWatch,
    woken: threading.Event,
    steady: SteadyClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job, asked = lab.start(), list[str]()
    lab.run(job)
    monkeypatch.setattr(JupyterServer, "is_ready", lambda self: bool(asked))
    monkeypatch.setattr(
        JupyterServer, "read_status", lambda self: asked.append("use") or JupyterStatus(None, is_busy=True)
    )
    advance(watch, held)
    assert lab.row(job).ready_attempt is None and not woken.is_set()
    asked.append("ready")
    steady.now += 1
    advance(watch, held)
    assert lab.row(job).ready_attempt == 1 and woken.wait(5)
    woken.clear()
    for seconds in (1, 1, 31):
        steady.now += seconds
        advance(watch, held)
    assert asked == ["ready", "use"] and lab.row(job).is_busy and not woken.is_set()


def test_a_server_that_hangs_is_asked_once_at_a_time(
    lab: NotebookLab,
    held: HeldLease,
    watch: NotebookWatch,
    steady: SteadyClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab.run(lab.start())
    released, asked = threading.Event(), list[int]()
    monkeypatch.setattr(JupyterServer, "is_ready", lambda self: asked.append(1) or released.wait(5))
    began = time.monotonic()
    for _ in range(5):
        steady.now += 60
        watch.advance(held)
    assert time.monotonic() - began < 3
    released.set()
    for future in list(watch.asked.values()):
        future.result(timeout=5)
    assert len(asked) == 1


def test_an_answer_that_fails_holds_up_nobody(
    lab: NotebookLab,
    held: HeldLease,
    watch: NotebookWatch,
    steady: SteadyClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job, asked = lab.start(), list[int]()
    lab.run(job)

    def is_ready(_: JupyterServer) -> bool:
        asked.append(1)
        if len(asked) == 1:
            raise OverflowError("date value out of range")
        return True

    monkeypatch.setattr(JupyterServer, "is_ready", is_ready)
    watch.advance(held)
    for future in list(watch.asked.values()):
        assert isinstance(future.exception(timeout=5), OverflowError)
    watch.advance(held)
    steady.now += 60
    advance(watch, held)
    assert lab.row(job).ready_attempt == 1


def test_the_newest_save_counts_and_none_in_the_future(lab: NotebookLab) -> None:
    files = lab.write({"a.py": b"", "b.py": b"", "c.py": b""}) / "files"
    moment = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    for name, offset in (("a.py", -60), ("b.py", 0), ("c.py", 10 * 3600)):
        os.utime(files / name, (0, moment.timestamp() + offset))
    training = lab.training
    parts = notebook_folders.working_copy_parts(training.workspace_id, training.id, lab.owner.id)
    assert notebook_watch.read_last_save(lab.cluster, (*parts, "files")) == moment
    assert notebook_watch.read_last_save(lab.cluster, (*parts, "nothing")) is None


def test_folders_of_sockets_stay_while_an_attempt_lives(
    lab: NotebookLab,
    held: HeldLease,
    watch: NotebookWatch,
    steady: SteadyClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jupyter_status, "ANSWER_SECONDS", 0.1)
    job = lab.start()
    lab.run(job)
    sockets = lab.cluster.settings.notebook_sockets
    for name in (f"{job.id}-1", "77-1"):
        (sockets / name).mkdir(parents=True)
    steady.now += 61
    advance(watch, held)
    assert [path.name for path in sockets.iterdir()] == [f"{job.id}-1"]
