"""git begins without its user's settings, and what it says is kept without secrets."""

import os
from pathlib import Path

import pytest

from cluster.domain.errors import Refused, Unavailable
from cluster.domain.jobs.unix_ids import UnixIds
from worker.git import git_process
from worker.git.git_process import GitLimits, GitProcesses, require_usable_git


def test_settings_and_variables_of_this_process_do_not_reach_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://evil.example")
    monkeypatch.setenv("GROUNDCREW_SECRET_KEY", "secret")
    processes = GitProcesses(tmp_path, GitLimits())
    settings = processes.run("config", "--list").decode().splitlines()
    assert "protocol.allow=never" in settings and "core.hookspath=/dev/null" in settings
    assert set(processes.environment()) & {"HTTPS_PROXY", "GROUNDCREW_SECRET_KEY"} == set()


def test_limits_and_ids_are_set_before_git_begins(tmp_path: Path) -> None:
    words = GitProcesses(tmp_path, GitLimits(9, 1000, 2000), UnixIds(7, 8)).confine()
    assert words[:5] == ["setpriv", "--no-new-privs", "--reuid=7", "--regid=8", "--clear-groups"]
    assert {"--fsize=1000", "--as=2000", "--cpu=9", "--core=0"} <= set(words)
    assert "--reuid=0" not in GitProcesses(tmp_path, GitLimits()).confine()


def test_an_error_shows_no_secret(tmp_path: Path) -> None:
    processes = GitProcesses(tmp_path, GitLimits(), secrets=["hush-hush-hush"])
    with pytest.raises(Refused) as refused:
        processes.run("hush-hush-hush")
    assert refused.value.code == "git.failed" and "hush" not in str(refused.value)


def test_an_answer_is_read_up_to_its_limit(tmp_path: Path) -> None:
    processes = GitProcesses(tmp_path, GitLimits())
    assert processes.run("version", most=200).startswith(b"git version")
    with pytest.raises(Refused) as refused:
        processes.run("version", most=5)
    assert refused.value.code == "git.too_large"


def test_a_missing_or_old_git_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_process, "OLDEST_GIT", (99, 0))
    with pytest.raises(Unavailable) as old:
        require_usable_git(GitProcesses(tmp_path, GitLimits()))
    assert old.value.code == "git.too_old" and old.value.data["needed"] == "99.0"
    monkeypatch.setattr(git_process, "PATH", str(tmp_path))
    with pytest.raises(Unavailable) as missing:
        GitProcesses(tmp_path, GitLimits()).run("version")
    assert missing.value.code == "git.missing"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give rights away")
def test_git_runs_as_the_given_user(tmp_path: Path) -> None:
    processes = GitProcesses(Path("/"), GitLimits(), UnixIds(1_148_001, 1_148_002))
    told = processes.run("-c", "alias.who=!id -u; id -g; id -G", "who").decode().split()
    assert told == ["1148001", "1148002", "1148002"]
