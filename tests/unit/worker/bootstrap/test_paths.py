"""An installation finds its folders by its clone, its user and the environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.bootstrap.paths import CLONE, find_installation_paths


@pytest.fixture(autouse=True)
def no_named_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GROUNDCREW_STATE_DIR", "GROUNDCREW_CACHE_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_root_keeps_state_and_cache_in_the_machines_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    places = find_installation_paths(Path("/srv/groundcrew"))
    assert places.state_dir.parent == Path("/var/lib/groundcrew")
    assert places.cache_dir == Path("/var/cache/groundcrew")


def test_another_user_keeps_them_in_the_own_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/kim")
    places = find_installation_paths(Path("/home/kim/groundcrew"))
    assert places.state_dir.parent == Path("/home/kim/.local/share/groundcrew")
    assert places.cache_dir == Path("/home/kim/.cache/groundcrew")


def test_two_clones_share_the_cache_and_never_the_state() -> None:
    one, other = find_installation_paths(Path("/srv/one")), find_installation_paths(Path("/srv/other"))
    assert one.cache_dir == other.cache_dir
    assert one.state_dir != other.state_dir
    assert one.state_dir == find_installation_paths(Path("/srv/one")).state_dir


def test_compiled_modules_are_kept_outside_the_clone_also_where_the_shell_keeps_none(tmp_path: Path) -> None:
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    program = "from pathlib import Path; from worker.bootstrap.__main__ import exec_in_environment; "
    program += f"exec_in_environment(Path('/usr'), ['/usr/bin/python3', '-c', {show!r}], {{}})"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "GROUNDCREW_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=CLONE,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    values = json.loads(done.stdout)
    assert "PYTHONDONTWRITEBYTECODE" not in values and values["PYTHONPYCACHEPREFIX"] == f"{tmp_path}/pycache"
