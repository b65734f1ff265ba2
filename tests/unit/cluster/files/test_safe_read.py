"""Files beneath a folder are opened by whoever may pass it, also where nobody may list it."""

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.files.safe_read import (
    FileMissing,
    FileNotPlain,
    list_first_names,
    open_file_beneath,
    open_folder_beneath,
)

FORK = multiprocessing.get_context("fork")
NOBODY = 65534


@pytest.fixture
def state() -> Iterator[Path]:
    """As on servers: everybody may pass it, its owner alone may list it."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        (state / "log").mkdir(parents=True)
        (state / "log" / "operation-1.log").write_text("PLAY RECAP\n")
        (state / "elsewhere").symlink_to(state / "log")
        Path(folder).chmod(0o711)
        state.chmod(0o711 if os.geteuid() == 0 else 0o111)
        yield state
        state.chmod(0o700)


def is_done_by_somebody_else(work: Callable[[], None]) -> bool:
    """Root may list every folder, so it is done by nobody."""

    def do() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        work()

    child = FORK.Process(target=do)
    child.start()
    child.join()
    return child.exitcode == 0


def test_a_folder_that_may_be_passed_and_not_listed_hides_nothing_beneath(state: Path) -> None:
    def read() -> None:
        with open_file_beneath(state, "log", "operation-1.log") as file:
            assert file.read() == b"PLAY RECAP\n"

    def list_it() -> None:
        with open_folder_beneath(state):
            pass

    assert is_done_by_somebody_else(read)
    assert not is_done_by_somebody_else(list_it)


def test_a_link_on_the_way_leads_nowhere(state: Path) -> None:
    with pytest.raises(FileNotPlain), open_file_beneath(state, "elsewhere", "operation-1.log"):
        pass
    with pytest.raises(FileMissing), open_file_beneath(state, "..", "state"):
        pass


def test_no_more_names_are_read_than_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, scandir = list[str](), os.scandir

    @contextmanager
    def counted(folder: int) -> Iterator[Iterator["os.DirEntry[str]"]]:
        with scandir(folder) as entries:
            yield (read.append(entry.name) or entry for entry in entries)  # type: ignore[func-returns-value]

    for number in range(9):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr(os, "scandir", counted)
    with open_folder_beneath(tmp_path) as folder:
        names = list_first_names(folder, 4)
    assert len(names) == 4 and read == names
