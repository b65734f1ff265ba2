"""Files of others near an attempt make root neither write elsewhere nor run anything as another user."""

import json
import os
import pwd
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.jobs.unix_ids import JobUnixIds
from tests.integration.worker.executors.conftest import GID, IS_ROOT, UID, Bench
from worker.executors.contract import NotStarted
from worker.executors.process import ProcessExecutor

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="only root can be led astray")
SERVICE = "daemon"
FILES = 200
SWAPS = """
import os, sys, time
jobs, victim = sys.argv[1:]
end = time.monotonic() + 60
number = 0
while time.monotonic() < end and os.getppid() != 1:
    for job in os.listdir(jobs) if os.access(jobs, os.R_OK) else map(str, range(1, 20)):
        out = "%s/%s/1/out" % (jobs, job)
        try:
            os.rename(out + "/work", "%s/aside-%d" % (out, number))
            number += 1
            os.symlink(victim, out + "/work")
        except OSError:
            pass
"""


@pytest.fixture
def bench(process_bench: Bench) -> Bench:
    return process_bench


@pytest.fixture
def victim(bench: Bench) -> Path:
    """Root's own, as /etc is; nothing here may change it."""
    folder = bench.ground / "victim"
    folder.mkdir(mode=0o700)
    (folder / "file").write_text("root's own")
    (folder / "file").chmod(0o600)
    return folder


def facts_of(folder: Path) -> list[tuple[str, int, int, int]]:
    paths = [folder, *sorted(folder.rglob("*"))]
    return [(path.name, *(path.lstat()[number] for number in (4, 5, 0))) for path in paths]


@contextmanager
def hostile(script: str, *words: object, user: int = UID) -> Iterator[None]:
    """Another job of the same user in the same workspace, as long as the block lasts."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", script, *map(str, words)],
        user=user,
        group=GID,
        extra_groups=[],
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("services", [None, (1, 1)], ids=["one user", "services"])
def test_code_is_never_copied_through_a_link_of_another_job(
    bench: Bench, victim: Path, services: tuple[int, int] | None
) -> None:
    """It owns `out` as well, and puts a link in the place of `work` again and again; five starts are enough for it."""
    before = facts_of(victim)
    code = bench.ground / "code"
    code.mkdir()
    for number in range(FILES):
        (code / f"file-{number}.py").write_text("pass")
    jobs = bench.plan("/bin/true").folder.parent.parent
    jobs.chmod(0o711)
    with hostile(SWAPS, jobs, victim):
        for _ in range(5):
            plan = bench.plan("/bin/true", code=code, services=services)
            bench.run(plan)
    assert facts_of(victim) == before


def a_folder(bench: Bench, owner: int, **content: Any) -> Path:
    """An attempt's folder as whoever made it left it, with a plan that has something run."""
    plan = bench.plan("/bin/true")
    told = plan.to_json() | {"argv": ["/bin/sh", "-c", f"id -u > {plan.folder}/who"]} | content
    control = plan.folder / "control"
    control.mkdir(parents=True)
    (control / "plan.json").write_text(json.dumps(told))
    for path in (plan.folder, control, control / "plan.json"):
        os.chown(path, owner, owner)
    return plan.folder


def shim_says(bench: Bench, folder: Path) -> dict[str, Any]:
    """What the shim answers; until it has ended, or its program has."""
    command = ["/usr/bin/python3", "-I", "-S", str(bench.stage.runtime / "shim.py"), str(folder)]
    answer = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    until = time.monotonic() + 20
    while "pid" in answer and not (folder / "control" / "exit.json").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize("part", ["folder", "control", "plan", "writable", "second name", "link"])
def test_the_shim_obeys_no_plan_that_somebody_else_could_have_written(bench: Bench, part: str) -> None:
    folder = a_folder(bench, 0)
    control = folder / "control"
    service = pwd.getpwnam(SERVICE).pw_uid
    if part == "writable":
        (control / "plan.json").chmod(0o664)
    elif part == "second name":
        os.link(control / "plan.json", bench.ground / "another")
    elif part == "link":
        control.rename(folder / "elsewhere")
        control.symlink_to("elsewhere")
    else:
        os.chown({"folder": folder, "control": control, "plan": control / "plan.json"}[part], service, -1)
    answer = shim_says(bench, folder)
    assert answer.get("refused") == "error", answer
    assert not (folder / "who").exists()


@pytest.mark.parametrize(
    "who",
    [
        {"uid": 0},
        {"gid": 0},
        {"uid": None},
        {"uid": 100_000},
        {"uid": 99_999},
        {"uid": 100_000 + 2**20},
        {"gid": 42},
    ],
)
def test_the_shim_becomes_nobody_but_a_user_of_the_installation(bench: Bench, who: dict[str, Any]) -> None:
    folder = a_folder(bench, 0, **who)
    answer = shim_says(bench, folder)
    assert answer.get("refused") == "error", answer
    assert "jobs run as 100001 to 1148575" in answer["text"]
    assert not (folder / "who").exists()


@pytest.mark.parametrize("who", [{"uid": 0}, {"uid": 0, "gid": 0}, {"gid": 42}, {"uid": 999}, {"uid": 2**31}])
def test_the_executor_starts_nobody_elses_program(bench: Bench, who: dict[str, int]) -> None:
    plan = bench.plan("/bin/sh", "-c", f"id -u > {bench.ground}/who", **who)
    with pytest.raises(NotStarted, match="number_outside"):
        bench.start(plan)
    assert not plan.folder.exists() and not (bench.ground / "who").exists()


def test_the_range_is_that_of_the_installations_settings(bench: Bench) -> None:
    executor = ProcessExecutor(
        bench.stage.runtime, bench.ground / "storage", job_ids=JobUnixIds(300_000, 300_000)
    )
    with pytest.raises(NotStarted, match="number_outside"):
        executor.start(bench.plan("/bin/true"))


@pytest.mark.parametrize("part", ["jobs", "job", "attempt", "control"])
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_the_executor_begins_nothing_in_what_somebody_else_has_made(
    bench: Bench, victim: Path, part: str, kind: str
) -> None:
    """A service that was taken over made it before, with a plan of its own in it."""
    service = pwd.getpwnam(SERVICE).pw_uid
    plan = bench.plan("/bin/true", services=(service, service))
    control = plan.folder / "control"
    place = {"jobs": plan.folder.parent.parent, "job": plan.folder.parent, "attempt": plan.folder}.get(
        part, control
    )
    place.parent.mkdir(parents=True, exist_ok=True)
    before = facts_of(victim)
    if kind == "link":
        if place.is_dir():
            place.rmdir()
        place.symlink_to(victim)
    else:
        place.mkdir(exist_ok=True)
        os.chown(place, service, service)
    with pytest.raises(NotStarted):
        bench.executor.start(plan)
    assert facts_of(victim) == before
    assert place.lstat().st_uid == (service if kind == "folder" else 0)


def test_a_handle_that_a_service_wrote_is_believed_by_nobody(bench: Bench) -> None:
    """By `started` root ends processes: a service would name whichever it likes."""
    plan = bench.plan("/bin/sleep", "600")
    handle = bench.start(plan)
    other = bench.plan("/bin/true")
    control = other.folder / "control"
    control.mkdir(parents=True)
    (control / "started").write_text(json.dumps(dict(handle)))
    service = pwd.getpwnam(SERVICE).pw_uid
    os.chown(control, service, service)
    os.chown(control / "started", service, service)
    assert bench.executor.read_status(other.folder).handle is None
    assert bench.executor.read_status(plan.folder).handle == handle
    bench.executor.kill(handle)


def test_out_belongs_to_the_job_and_all_above_it_to_root(bench: Bench) -> None:
    service = pwd.getpwnam(SERVICE).pw_uid
    plan = bench.script("pass", services=(service, service))
    assert bench.run(plan).exit_code == 0, bench.shim_log(plan)
    folders = (plan.folder.parent, plan.folder, plan.folder / "control", plan.out)
    found = [(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) for status in map(os.stat, folders)]
    assert found == [(0, service, 0o751), (0, service, 0o751), (0, service, 0o2750), (UID, service, 0o2750)]
    assert (plan.out / "work").stat().st_uid == UID


STOPS = """
import os, signal, sys, time
end = time.monotonic() + 60
while time.monotonic() < end and os.getppid() != 1:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat("/proc/" + pid).st_uid in (0, os.getuid()) and int(pid) != os.getpid():
                os.kill(int(pid), signal.SIGKILL if sys.argv[1] == "kill" else signal.SIGSTOP)
        except OSError:
            pass
"""


@pytest.mark.parametrize("act", ["kill", "stop"])
def test_a_copy_that_another_job_ends_or_stops_holds_up_no_shim(
    bench: Bench, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the same user, and so may; what it gets is a job that did not start."""
    (runtime := bench.stage.runtime / "shim_program.py").write_text(
        runtime.read_text().replace("COPY_SECONDS = 600.0", "COPY_SECONDS = 3.0")
    )
    code = bench.ground / "code"
    code.mkdir()
    for number in range(20 * FILES):
        (code / f"file-{number}.py").write_text("pass")
    # It looks for processes of its user on the whole machine: nobody else's test has this one.
    user = 120_000 + os.getpid() % 60_000
    with hostile(STOPS, act, user=user):
        truth = bench.run(bench.plan("/bin/true", code=code, uid=user), seconds=30)
    assert truth.exit_code != 0
