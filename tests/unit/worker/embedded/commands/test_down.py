"""`make down` asks before it stops jobs."""

import builtins

import pytest

from worker.embedded.commands import down
from worker.embedded.commands.running_jobs import RunningJobLine


@pytest.mark.parametrize(
    ("has_terminal", "typed", "stops"),
    [(True, "yes", True), (True, "예", True), (True, "no", False), (True, "", False), (False, "yes", False)],
)
def test_jobs_are_named_and_stopped_only_after_a_yes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    has_terminal: bool,
    typed: str,
    stops: bool,
) -> None:
    monkeypatch.setattr(down.sys.stdin, "isatty", lambda: has_terminal, raising=False)
    monkeypatch.setattr(builtins, "input", lambda _: typed)
    jobs = [RunningJobLine(7, "lenet", "vision", "minji")]
    if stops:
        down.confirm_interruption(jobs)
    else:
        with pytest.raises(SystemExit):
            down.confirm_interruption(jobs)
    assert "lenet" in capsys.readouterr().out
