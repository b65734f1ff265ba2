"""The Python that an environment gets is the distribution's or one that everybody may run."""

from pathlib import Path

import pytest

from cluster.domain.errors import Refused
from worker.environments.build_platform import PYTHON
from worker.environments.from_requirements import interpreters
from worker.environments.from_requirements.interpreters import find_interpreter, list_interpreters


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("python3.10", "python3.5", "python3", "python3.10-config", "python2.7"):
        (tmp_path / name).touch(0o755)
    (tmp_path / "python3.9").touch(0o644)
    monkeypatch.setattr(interpreters, "FOLDERS", (tmp_path,))
    return tmp_path


def test_those_of_the_machine_are_found_by_their_version(folders: Path) -> None:
    assert set(list_interpreters()) == {"2.7", "3.5", "3.10"}
    assert find_interpreter("3.10") == (folders / "python3.10", "3.10")
    assert find_interpreter("")[0] == PYTHON


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ("3.9", "environment.python_missing"),
        ("3.5", "environment.python_too_old"),
        ("2.7", "environment.python_too_old"),
    ],
)
def test_others_are_refused(folders: Path, wanted: str, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        find_interpreter(wanted)
    assert (refusal.value.field, refusal.value.code) == ("python", code)
