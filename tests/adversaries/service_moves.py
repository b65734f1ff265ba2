"""Moves of the services' user: files, rows, sockets and messages of a portal that somebody has taken over."""

import json
import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.adversaries.moves import Ground, Moves, link, must_not, remove

MOVES = Moves()
move = MOVES.move
PYTHON = "/usr/bin/python3"
LARGEST_UID = 2**32


def refusing(act: Callable[[], object]) -> None:
    """For what may be refused by now: the move is that it is tried."""
    with suppress(OSError):
        act()


def plan_of_root(ground: Ground) -> str:
    """A plan that makes a program of ours run as root."""
    out = ground.next / "out"
    plan = {
        "job": ground.job,
        "attempt": ground.attempt,
        "fence": ground.attempt,
        "argv": [PYTHON, ground.program, ground.witness],
        "environment": {"PATH": "/usr/bin:/bin"},
        "ranks": 1,
        "nodes": 0,
        "out": str(out),
        "cwd": "/",
        "code": None,
        "uid": 0,
        "gid": 0,
        "readers_gid": None,
        "grace_seconds": 1,
        "units": 1,
    }
    return json.dumps(plan)


def handle_of(pid: int) -> dict[str, object]:
    """As a shim's own file names it."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return {"pid": pid, "boot_id": boot, "start_ticks": int(ticks)}


def take_the_place_of(folder: Path) -> Path:
    """A folder of ours under its name, whatever stood there; what stood there is kept beside it. Raises OSError."""
    if os.path.lexists(folder):
        folder.rename(folder.with_name(f".aside-{os.urandom(4).hex()}"))
    folder.mkdir(mode=0o777)
    folder.chmod(0o2777)
    return folder


# Folders of attempts.


@move()
def plan_is_ours(ground: Ground) -> None:
    """Folders of the next attempt are made first, and its plan is replaced the moment it is written: it says root."""
    control = ground.next / "control"
    with suppress(OSError):
        control.mkdir(parents=True, mode=0o777)
        control.chmod(0o2777)
    plan = plan_of_root(ground)
    ground.ready()
    while ground.goes_on():
        with suppress(OSError):
            (control / "ours").write_text(plan)
            os.stat(control / "plan.json")
            os.rename(control / "ours", control / "plan.json")


@move()
def control_is_ours(ground: Ground) -> None:
    """The next attempt's control folder is exchanged for one of ours with a plan that says root."""
    control = ground.next / "control"
    ours = ground.next / "ours"
    ground.ready()
    while ground.goes_on():
        with suppress(OSError):
            if not ours.exists():
                ours.mkdir()
                (ours / "plan.json").write_text(plan_of_root(ground))
            os.stat(control / "plan.json")
            control.rename(ground.next / f"was-{os.urandom(4).hex()}")
            ours.rename(control)


@move()
def control_is_a_link(ground: Ground) -> None:
    """The next attempt's control folder is a link into a folder of root's."""
    with suppress(OSError):
        ground.next.mkdir(parents=True)
        (ground.next / "control").symlink_to(ground.target)
    ground.ready()


@move()
def attempt_is_a_link(ground: Ground) -> None:
    """The next attempt's folder is a link into a folder of root's."""
    with suppress(OSError):
        ground.next.parent.mkdir(parents=True)
        ground.next.symlink_to(ground.target)
    ground.ready()


@move(is_long=True)
def job_is_a_link(ground: Ground) -> None:
    """The next job's folder is a link into a folder of root's."""
    with suppress(OSError):
        ground.next.parent.symlink_to(ground.target)
    ground.ready()


@move(is_long=True)
def jobs_are_a_link(ground: Ground) -> None:
    """The folder of the workspace's jobs is a link into a folder of root's."""
    refusing(lambda: link(ground.home / "jobs", ground.target))
    ground.ready()


@move(is_long=True)
def workspace_is_a_link(ground: Ground) -> None:
    """The workspace's folder is a link into a folder of root's."""
    refusing(lambda: link(ground.home, ground.target))
    ground.ready()


@move()
def workspaces_are_a_link(ground: Ground) -> None:
    """The folder of all workspaces is a link into a folder of root's."""
    refusing(lambda: link(ground.home.parent, ground.target))
    ground.ready()


@move(is_long=True)
def workspace_is_swapped(ground: Ground) -> None:
    """The workspace's folder turns into a link and back without pause."""
    aside = ground.home.with_name("aside")
    ground.ready()
    while ground.goes_on():
        with suppress(OSError):
            ground.home.rename(aside)
        with suppress(OSError):
            ground.home.symlink_to(ground.target)
        with suppress(OSError):
            ground.home.unlink()
        with suppress(OSError):
            aside.rename(ground.home)
    with suppress(OSError):
        aside.rename(ground.home)


@move()
def out_is_a_link(ground: Ground) -> None:
    """What the next attempt's program is given to write in is a link into a folder of root's."""
    with suppress(OSError):
        ground.next.mkdir(parents=True)
        (ground.next / "out").symlink_to(ground.target)
    ground.ready()


@move(is_long=True)
def log_of_the_shim_is_a_link(ground: Ground) -> None:
    """The shim's log is a link to a file of root's before the shim opens it, and so are its other files."""
    with suppress(OSError):
        (ground.next / "control").mkdir(parents=True, mode=0o777)
    for name in ("shim.log", "usage.json", "exit.json", "plan.json"):
        with suppress(OSError):
            (ground.next / "control" / name).symlink_to(ground.secret)
    ground.ready()


@move()
def control_has_pipes_and_sockets(ground: Ground) -> None:
    """Named pipes and sockets stand where the shim opens its plan and its log."""
    control, kept = ground.next / "control", []
    with suppress(OSError):
        control.mkdir(parents=True, mode=0o777)
        os.mkfifo(control / "shim.log")
        os.mkfifo(control / "exit.json")
        os.chdir(control)
        listener = socket.socket(socket.AF_UNIX)
        kept.append(listener)
        listener.bind("usage.json")
    ground.wait()
    for each in kept:
        each.close()


@move()
def result_is_a_link(ground: Ground) -> None:
    """What the running shim has reserved for its last word becomes a link to a file of root's."""
    control = Path(ground.running, "control")
    reserved = control / f"exit.json.{ground.shim}.tmp"
    refusing(lambda: link(reserved, ground.secret))
    with suppress(OSError):
        ours = take_the_place_of(control)
        for name in ("exit.json", "usage.json", reserved.name):
            (ours / name).symlink_to(ground.secret)
    ground.ready()


@move(is_long=True)
def result_is_forged(ground: Ground) -> None:
    """The running attempt's end is told by us: a control folder of ours says that it has gone, and how."""
    with suppress(OSError):
        control = take_the_place_of(Path(ground.running, "control"))
        end = {"exit_code": 0, "job": ground.resumed, "attempt": 1, "fence": 1, "signal": None, "ranks": []}
        (control / "exit.json").write_text(json.dumps(end))
        (control / "started").write_text(json.dumps({**handle_of(1), "pid": 2**22 - 1}))
    ground.ready()


@move()
def another_process_is_named(ground: Ground) -> None:
    """The running attempt names root's own process as its shim: to stop the job is to end that."""
    for pid in ground.processes[:1]:
        with suppress(OSError):
            control = take_the_place_of(Path(ground.running, "control"))
            (control / "started").write_text(json.dumps(handle_of(pid)))
    ground.sql(f"update jobs set desired = 'stop' where id = {ground.resumed}")
    ground.ready()


@move(is_long=True)
def next_attempt_has_begun_elsewhere(ground: Ground) -> None:
    """The next attempt seems to have begun as a process of another person's."""
    with suppress(OSError):
        (ground.next / "control").mkdir(parents=True, mode=0o777)
        (ground.next / "control" / "started").write_text(json.dumps(handle_of(ground.processes[1])))
    ground.sql(f"update jobs set desired = 'stop' where id = {ground.job}")
    ground.ready()


@move(is_long=True)
def leftovers_of_another(ground: Ground) -> None:
    """The next attempt's folder has a name by which processes of another person's job are found as left behind."""
    foreign = Path(ground.foreign)
    with suppress(OSError):
        ground.next.parent.mkdir(parents=True)
        ground.next.symlink_to(foreign)
    ground.ready()


@move(resumes=True, is_long=True)
def former_attempt_is_a_link(ground: Ground) -> None:
    """Where the job goes on from is a link into a folder of root's, in which there is a checkpoint."""
    with suppress(OSError):
        former = Path(ground.running)
        former.rename(former.with_name("aside"))
        former.mkdir()
        (former / "out").symlink_to(Path(ground.outside))
    ground.sql(f"update jobs set resume_from = '1/epoch-0001.weights.h5' where id = {ground.resumed}")
    ground.ready()


# Datasets and code.


@move()
def datasets_are_a_link(ground: Ground) -> None:
    """The folder of datasets is a link to the machine's own files."""
    refusing(lambda: link(ground.home / "datasets", ground.outside))
    ground.ready()


@move()
def dataset_is_a_link(ground: Ground) -> None:
    """A dataset, and what is in another one, are links into a folder of root's."""
    with suppress(OSError):
        (ground.home / "datasets" / "7").symlink_to(ground.target)
        inner = ground.home / "datasets" / "8" / "a"
        inner.mkdir(parents=True)
        (inner / "folder").symlink_to(ground.target)
        (inner / "file").symlink_to(ground.secret)
    ground.ready()


@move(is_long=True)
def dataset_is_swapped(ground: Ground) -> None:
    """Files and folders of a dataset turn into links to root's between two looks at them."""
    folder = ground.home / "datasets" / "7"
    with suppress(OSError):
        for number in range(100):
            (folder / f"{number:03}").mkdir(parents=True)
    ground.ready()
    while ground.goes_on():
        for number in range(100):
            path, aside = str(folder / f"{number:03}"), str(folder / f"aside-{number:03}")
            with suppress(OSError):
                os.rename(path, aside)
                os.symlink(ground.target, path)
            with suppress(OSError):
                os.unlink(path)
                os.rename(aside, path)


@move()
def dataset_has_second_names(ground: Ground) -> None:
    """Files of a dataset are second names of other people's files, as far as the system lets that be made."""
    folder = ground.home / "datasets" / "7"
    with suppress(OSError):
        folder.mkdir()
    theirs = [
        ground.secret,
        Path(ground.outside, "etc", "passwd"),
        *Path(ground.running, "out").glob("rank-*"),
    ]
    for number, path in enumerate(theirs):
        with suppress(OSError):
            os.link(path, folder / f"{number}.png")
    ground.ready()


@move(is_long=True)
def dataset_is_strange(ground: Ground) -> None:
    """Pipes, sockets, circles, special bits, line breaks in names and a folder three hundred deep are in a dataset."""
    folder = ground.home / "datasets" / "7"
    with suppress(OSError):
        folder.mkdir()
        os.mkfifo(folder / "pipe")
        (folder / "circle").symlink_to(folder)
        (folder / "a\nb").mkdir(mode=0)
        (folder / "--reference=x").write_text("x")
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe")).write_text("x")
        shutil.copyfile(ground.program, folder / "special")
        (folder / "special").chmod(0o6755)
        (folder / "sticky").mkdir()
        (folder / "sticky").chmod(0o7777)
        must_not(os.mknod, folder / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 1))
        os.chdir(folder)
        for _ in range(300):
            os.mkdir("deeper")
            os.chdir("deeper")
    ground.ready()


@move(is_long=True)
def dataset_has_an_access_list(ground: Ground) -> None:
    """Folders of ours hand rights for everybody on to what root makes in them."""
    for folder in (ground.home, ground.home / "jobs", ground.home / "datasets", ground.home.parent):
        for name in ("system.posix_acl_access", "system.posix_acl_default"):
            entries = b"".join(
                tag.to_bytes(2, "little") + (7).to_bytes(2, "little") + b"\xff" * 4 for tag in (1, 4, 16, 32)
            )
            with suppress(OSError):
                os.setxattr(folder, name, (2).to_bytes(4, "little") + entries)
    ground.ready()


@move(is_long=True)
def folders_are_closed(ground: Ground) -> None:
    """Folders of the workspace have no rights at all, or may be read alone."""
    for folder, mode in ((ground.home / "datasets", 0), (ground.home / "jobs", 0o500), (ground.home, 0o500)):
        with suppress(OSError):
            folder.chmod(mode)
    ground.ready()


@move(is_long=True)
def folders_are_gone(ground: Ground) -> None:
    """Folders of the workspace are deleted, and come back as files, while root works in them."""
    for name in ("datasets", "jobs", "code"):
        refusing(lambda name=name: remove(ground.home / name))  # type: ignore[misc]
        with suppress(OSError):
            (ground.home / name).write_text("")
    ground.ready()


@move()
def code_is_a_link(ground: Ground) -> None:
    """The job's code version is a link into a folder of root's, whose files are copied for the job."""
    refusing(lambda: link(Path(ground.code), ground.target))
    ground.ready()


@move()
def code_has_links(ground: Ground) -> None:
    """Files of the code version are links to files of root's, second names, pipes and folders of their own."""
    code = Path(ground.code)
    with suppress(OSError):
        (code / "shadow.py").symlink_to(ground.secret)
        (code / "package").symlink_to(ground.target)
        os.mkfifo(code / "pipe.py")
        (code / "circle").symlink_to(".")
        (code / "special.py").write_text("")
        (code / "special.py").chmod(0o6755)
    ground.ready()


@move(is_long=True)
def code_is_swapped(ground: Ground) -> None:
    """Files of the code version turn into links to root's between two looks at them."""
    code = Path(ground.code)
    ground.ready()
    while ground.goes_on():
        for number in range(20):
            with suppress(OSError):
                path = code / f"swapped_{number}.py"
                path.write_text("")
                path.unlink()
                path.symlink_to(ground.secret)
            with suppress(OSError):
                path.unlink()


@move(is_long=True)
def descriptors_are_kept(ground: Ground) -> None:
    """Folders that root makes are opened at once, and links are made through these descriptors later."""
    ground.ready()
    kept: list[int] = []
    while ground.goes_on():
        for path in (ground.next.parent, ground.next, ground.next / "control", ground.next / "out"):
            with suppress(OSError):
                kept.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        for descriptor in kept:
            for name in ("out", "control", "work", "exit.json", "shim.log"):
                with suppress(OSError):
                    os.symlink(ground.target, name, dir_fd=descriptor)
            os.close(descriptor)
        kept = []


# Rows.


@move()
def user_is_root(ground: Ground) -> None:
    """The job's user has the number that, counted from the first one, is root."""
    user = -ground.uid_base
    ground.copy_row("users", f"(select user_id from jobs where id = {ground.job})", id=user, name="'root'")
    ground.sql(f"update jobs set user_id = {user} where id = {ground.job}")
    ground.ready()


@move()
def user_is_nobody_to_change_to(ground: Ground) -> None:
    """The job's user has the number that means "as before" to the system: the shim would stay root."""
    user = -1 - ground.uid_base
    ground.copy_row("users", f"(select user_id from jobs where id = {ground.job})", id=user, name="'before'")
    ground.sql(f"update jobs set user_id = {user} where id = {ground.job}")
    ground.ready()


@move(is_long=True)
def user_is_a_service(ground: Ground) -> None:
    """The job's user has the number of the services, below the first one."""
    user = -3
    ground.copy_row("users", f"(select user_id from jobs where id = {ground.job})", id=user, name="'below'")
    ground.sql(f"update jobs set user_id = {user} where id = {ground.job}")
    ground.ready()


@move()
def user_is_beyond_the_last(ground: Ground) -> None:
    """The job's user has a number beyond the installation's, which belongs to somebody else on the machine."""
    user = 2**20 + 7
    ground.copy_row("users", f"(select user_id from jobs where id = {ground.job})", id=user, name="'beyond'")
    ground.sql(f"update jobs set user_id = {user} where id = {ground.job}")
    ground.ready()


@move()
def workspace_is_the_group_of_root(ground: Ground) -> None:
    """The job's workspace has the number whose group is root's."""
    workspace = -ground.gid_base
    ground.copy_row("workspaces", ground.workspace, id=workspace, name="'root'")
    ground.sql(f"update jobs set workspace_id = {workspace} where id = {ground.job}")
    ground.ready()


@move(is_long=True)
def workspace_is_beyond_the_last(ground: Ground) -> None:
    """The job's workspace has a number whose group belongs to somebody else on the machine."""
    workspace = 2**20 + 7
    ground.copy_row("workspaces", ground.workspace, id=workspace, name="'beyond'")
    ground.sql(f"update jobs set workspace_id = {workspace} where id = {ground.job}")
    ground.ready()


@move(is_long=True)
def training_is_elsewhere(ground: Ground) -> None:
    """Training and code version of the job are numbers that no folder has, or that lead to another workspace."""
    ground.sql(f"update jobs set code_version = -1, training_id = training_id + 1 where id = {ground.job}")
    ground.ready()


@move(is_long=True)
def attempt_has_a_strange_number(ground: Ground) -> None:
    """Attempts of the waiting job stand in the rows with numbers below nothing, on another node, begun long ago."""
    attempt = f"(select max(id) from attempts where job_id = {ground.resumed})"
    ground.sql(f"update attempts set number = -1 where id = {attempt}")
    ground.ready()


@move()
def handle_is_another_process(ground: Ground) -> None:
    """The row of the running attempt names another person's process as the one to stop, with its start and boot."""
    handle = json.dumps(handle_of(ground.processes[1]))
    ground.sql(
        f"update attempts set handle = '{handle}' where job_id = {ground.resumed}",
        f"update jobs set desired = 'stop' where id = {ground.resumed}",
    )
    ground.ready()


@move(is_long=True)
def foreign_job_is_lost(ground: Ground) -> None:
    """The rows know nothing of another person's job any more, so that its run counts as a stray one."""
    ground.sql(
        "update attempts set ended_at = started_at where job_id in "
        f"(select id from jobs where workspace_id = {ground.elsewhere})"
    )
    ground.ready()


@move(is_long=True)
def resume_leads_out(ground: Ground) -> None:
    """The checkpoint from which the job goes on has a name that leads out of its folder."""
    for number, name in enumerate(
        ("1/../../../../outside/root-only/epoch-0001.weights.h5", "-1/x", "1//etc/shadow")
    ):
        target = ground.job if number else ground.resumed
        ground.sql(f"update jobs set resume_from = '{name}' where id = {target}")
    ground.ready()


@move(is_long=True)
def command_and_variables(ground: Ground) -> None:
    """Command and variables of the job name programs and libraries of ours, and folders of others."""
    variables = {
        "LD_PRELOAD": ground.program,
        "PYTHONPATH": str(ground.home),
        "PATH": str(ground.home),
        "GROUNDCREW_OUT": str(Path(ground.foreign, "out")),
        "BASH_ENV": ground.program,
    }
    ground.sql(
        f"update jobs set variables = '{json.dumps(variables)}' where id = {ground.job}",
        f"""update jobs set command = '["../../../../../../../../{ground.program}", "{ground.witness}"]' """
        f"where id = {ground.job}",
    )
    ground.ready()


@move()
def environment_is_ours(ground: Ground) -> None:
    """The training environment's row names a folder of ours, with a program of ours and a link to a file of root's."""
    folder = Path(ground.cache, "ours")
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "python"
    program.write_text(f"#!/bin/sh\nexec {PYTHON} {ground.program} {ground.witness}\n")
    program.chmod(0o755)
    (folder / "groundcrew.json").symlink_to(ground.secret)
    folder.chmod(0o755)
    ground.sql(f"update environments set path = '{folder}'")
    ground.ready()


@move(is_long=True)
def environment_of_links(ground: Ground) -> None:
    """The training environment's row names the state folder, by a way that leads up."""
    ground.sql(f"update environments set path = '{ground.cache}/../secrets'")
    ground.ready()


@move(is_long=True)
def node_has_a_strange_name(ground: Ground) -> None:
    """The node's name is a way to a file of root's, and its facts are no numbers."""
    facts = json.dumps({"cpus": -1, "memory_bytes": -(2**63)})
    name = "../outside/etc/shadow"
    ground.sql(f"update nodes set name = '{name}', facts = '{facts}'", "update units set kind = 'gpu'")
    ground.ready()


@move(is_long=True)
def limits_are_strange(ground: Ground) -> None:
    """Time limit, grace and units of the job are numbers that nobody may ask for."""
    ground.sql(
        f"update jobs set time_limit_seconds = -5, grace_seconds = -1, retries = 1000 where id = {ground.job}"
    )
    ground.ready()


@move()
def dataset_row_names_the_state(ground: Ground) -> None:
    """Rows of datasets name the state folder and nothing, and operations ask to look at them and to delete them."""
    for number, path in enumerate((ground.state, "")):
        dataset = 100 + number
        ground.sql(
            "insert into datasets (id, workspace_id, name, kind, state, path, archive, created_by, created_at) values "
            f"({dataset}, {ground.workspace}, 'set-{dataset}', 'registered', 'preparing', '{path}', '', 1, "
            "'2026-01-01 00:00:00')"
        )
        for kind in ("dataset.import", "dataset.delete"):
            operate(ground, kind, dataset)
    ground.ready()


def operate(ground: Ground, kind: str, subject: int, queue: str = "general") -> None:
    """A row that asks for an operation, rung as the portal rings it."""
    ground.sql(
        "insert into operations (kind, queue, subject_id, workspace_id, state, steps, progress, requested_by, "
        f"requested_at, fence, claims) values ('{kind}', '{queue}', {subject}, {ground.workspace}, 'requested', '[]', "
        "0, 1, '2026-01-01 00:00:00', 0, 0)"
    )


@move()
def repair_is_forged(ground: Ground) -> None:
    """A row asks for a repair whose name, hosts and locks lead out of the catalogue."""
    ground.sql(
        "insert into repair_runs (name, target, host, targets, is_dry_run, digest, reason, requested_by, requested_at, "
        "is_forced, tasks, before, checks, reclaimable_paths, operation_id) values ('../../outside/etc/program', "
        "'../../outside/etc/passwd', 'localhost', '[[\"../../outside/etc/passwd\", \"localhost\"]]', false, "
        "'x', 'x', 1, "
        "'2026-01-01 00:00:00', false, '[]', '[]', '[]', "
        f"'[[\"{ground.secret}\", 1]]', null)"
    )
    number = ground.ask("select max(id) from repair_runs")[0]
    operate(ground, "repair", int(number), "repair")
    operate(ground, "repair", int(number), "general")
    ground.ready()


@move()
def leftovers_are_links(ground: Ground) -> None:
    """What upkeep takes for old logs and versions are links to root's, and a row lists them as to be deleted."""
    log, cache = Path(ground.state, "log"), Path(ground.cache)
    listed = []
    with suppress(OSError):
        for path in (
            log / "operation-1.log",
            cache / f"wheels-{'a' * 12}",
            cache / f"training-{'b' * 12}.gone",
        ):
            path.symlink_to(ground.target)
            listed.append([str(path), 1])
        folder = cache / f"wheels-{'c' * 12}"
        folder.mkdir()
        (folder / "link").symlink_to(ground.target)
        listed += [[str(folder), 1], [str(ground.target), 1], [str(ground.secret), 1]]
    ground.sql(
        "insert into repair_runs (name, target, host, targets, is_dry_run, digest, reason, requested_by, requested_at, "
        "is_forced, tasks, before, checks, reclaimable_paths, operation_id) values ('free-disk', 'master', 'master', "
        f"'[]', false, 'x', 'x', 1, '2026-01-01 00:00:00', false, '[]', '[]', '[]', '{json.dumps(listed)}', null)"
    )
    ground.ready()


@move()
def access_log_is_a_link(ground: Ground) -> None:
    """The access log's folder and its days are links to root's."""
    folder = Path(ground.state, "log", "access")
    with suppress(OSError):
        for day in ("20261120", "20261121", "20261122", "20261123", "20261124"):
            (folder / f"{day}.log").symlink_to(ground.secret)
        folder.rename(folder.with_name("was"))
        folder.symlink_to(ground.target)
    ground.ready()


@move()
def seals_are_ours(ground: Ground) -> None:
    """What root keeps of the access log's newest seal, and the keys of its roles, are read, written to and replaced."""
    folder = Path(ground.state, "audit")
    for act in (os.mkdir, os.listdir, os.rmdir):
        must_not(act, folder)
    must_not(folder.rename, folder.with_name("of-ours"))
    for name in ("newest-seal.json", "lost-seals.jsonl"):
        for each in ((folder / name).read_bytes, (folder / name).unlink):
            must_not(each)
        must_not((folder / name).write_text, "{}")
    for root in map(Path, ground.roots):
        for name in ("scheduler.env", "owner.env", "secrets/audit-key"):
            must_not((root / name).read_bytes)
    ground.ready()


# Images that root builds.


@move(builds=True)
def images_are_a_link(ground: Ground) -> None:
    """Where root builds images, now and in earlier versions, is a link into a folder of root's."""
    refusing(lambda: link(Path(ground.images), ground.target))
    refusing(lambda: link(Path(ground.cache, "images"), ground.target))
    ground.ready()


@move(builds=True)
def files_of_a_build_are_links(ground: Ground) -> None:
    """Lock, log and leftovers of a build of an image stand there as links to root's before it begins."""
    for folder in map(Path, (ground.images, ground.cache)):
        for name in (".training.lock", "build.log", f"wheels-{'d' * 12}.partial", "SHA256SUMS.json"):
            refusing(lambda name=name, folder=folder: link(folder / name, ground.secret))  # type: ignore[misc]
    ground.ready()


@move(builds=True)
def packages_of_an_image_are_links(ground: Ground) -> None:
    """Packages that root takes for an image are links, second names and pipes, and so is the folder of them."""
    folder = Path(ground.cache, f"wheels-{'e' * 12}")
    with suppress(OSError):
        Path(ground.cache, f"wheels-{'f' * 12}").symlink_to(ground.target)
        folder.mkdir()
        (folder / "numpy-1.whl").symlink_to(ground.secret)
        (folder / "folder-1.whl").symlink_to(ground.target)
        (folder / "up.tar.gz").symlink_to("../../outside/etc/shadow")
        os.mkfifo(folder / "pipe-1.whl")
    for number, path in enumerate((ground.secret, Path(ground.outside, "etc", "passwd"))):
        with suppress(OSError):
            os.link(path, folder / f"second-{number}.whl")
    ground.ready()


@move(builds=True, is_long=True)
def packages_of_an_image_are_swapped(ground: Ground) -> None:
    """Packages, and folders of them, turn into links to root's while root takes them for an image."""
    folder, aside = Path(ground.cache, f"wheels-{'e' * 12}"), Path(ground.cache, "aside")
    with suppress(OSError):
        folder.mkdir()
        for number in range(100):
            (folder / f"package-{number:03}.whl").write_bytes(b"x" * 2**16)
    ground.ready()
    while ground.goes_on():
        for number in range(100):
            path = folder / f"package-{number:03}.whl"
            with suppress(OSError):
                path.unlink()
                path.symlink_to(ground.secret)
            with suppress(OSError):
                path.unlink()
                path.write_bytes(b"x")
        with suppress(OSError):
            folder.rename(aside)
            folder.symlink_to(ground.target)
        with suppress(OSError):
            folder.unlink()
            aside.rename(folder)


@move(builds=True)
def sources_of_an_image_are_ours(ground: Ground) -> None:
    """An archive of sources lies beside the packages that root takes, and has a name by which one is compiled."""
    folder = Path(ground.cache, f"wheels-{'e' * 12}")
    with suppress(OSError):
        folder.mkdir()
    for name in ("horovod-0.0.1.tar.gz", "horovod-99.tar.gz", "numpy-99-py3-none-any.whl"):
        (folder / name).write_text("ours")
    ground.ready()


@move(is_long=True)
def facts_and_leases_are_forged(ground: Ground) -> None:
    """The rows by which the scheduler knows itself and how far it has written are ours."""
    ground.sql(
        "update leases set holder = 'us', fence = fence + 1000",
        "delete from installation_facts where name = 'access_log'",
        "insert into installation_facts (name, value) values ('access_log', '{\"last_id\": -5}')",
        "update installation_facts set value = '{\"digest\": \"../../x\"}' where name = 'default_environment'",
    )
    ground.ready()


# Messages and sockets.


def speak(ground: Ground, *commands: tuple[str | bytes, ...]) -> bytes:
    """To Redis, in its own words, until it has answered the last ones."""
    said, address = b"", ground.redis
    if "@" in address:
        login, _, address = address.removeprefix("unix://").rpartition("@")
        commands = (("AUTH", *login.split(":", 1)), *commands)
    for words in (*commands, ("QUIT",)):
        said += b"*%d\r\n" % len(words)
        for word in words:
            content = word if isinstance(word, bytes) else word.encode()
            said += b"$%d\r\n%s\r\n" % (len(content), content)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(address)
        connection.sendall(said)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@move()
def message_of_another_function(ground: Ground) -> None:
    """Entries of the task workers' queues name functions that run programs, also as callbacks."""
    commands: list[tuple[str | bytes, ...]] = []
    program = f"{PYTHON} {ground.program} {ground.witness}"
    calls = [
        ["os.system", None, [program], {}],
        ["subprocess.getoutput", None, [program], {}],
        ["worker.tasks.run.run_operation", None, ["1; id"], {}],
        ["worker.tasks.run.__builtins__", None, [program], {}],
    ]
    for number, call in enumerate(calls):
        entry = {
            "data": json.dumps(call),
            "created_at": "2026-01-01T00:00:00.000000Z",
            "status": "queued",
            "origin": "general",
            "success_callback_name": "os.system",
        }
        fields = [word for pair in entry.items() for word in pair]
        for queue in ("general", "backups"):
            name = f"forged-{queue}-{number}"
            commands += [("HSET", f"rq:job:{name}", *fields), ("RPUSH", f"rq:queue:{queue}", name)]
    commands.append(("SADD", "rq:queues", "rq:queue:general", "rq:queue:backups"))
    speak(ground, *commands)
    ground.ready()


@move(is_long=True)
def messages_that_cannot_be_read(ground: Ground) -> None:
    """Keys of Redis have other kinds than they should, and rings are broken text with huge numbers."""
    speak(
        ground,
        ("XADD", "ev", "*", "topic", b"\xff\xfe", "id", "9" * 400, "by", b"\x00"),
        ("XADD", "ev", "*", "nothing", "x"),
        ("SET", "rq:queue:general", "x"),
        ("SADD", "rq:queues", "rq:queue:../../x"),
        ("PUBLISH", "rq:pubsub:all", json.dumps({"command": "shutdown"})),
    )
    ground.ready()


@move()
def repairs_are_asked_for_directly(ground: Ground) -> None:
    """We connect to the socket behind which repairs run, and to others of root's."""
    for path in ground.sockets:
        with socket.socket(socket.AF_UNIX) as connection:
            must_not(connection.connect, path)
    ground.ready()


@move()
def favours_are_asked_of_root(ground: Ground) -> None:
    """Systemd, sudo and the like are asked to run a program of ours as root."""
    program = [PYTHON, ground.program, ground.witness]
    for words in (
        ["systemd-run", "--no-ask-password", "--quiet", *program],
        ["systemd-run", "--no-ask-password", "--quiet", "--uid=0", "--scope", *program],
        ["systemctl", "--no-ask-password", "set-environment", f"BASH_ENV={ground.program}"],
        ["sudo", "-n", *program],
        ["runuser", "-u", "root", "--", *program],
        ["pkexec", *program],
    ):
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False)
    ground.ready()


@move()
def root_is_signalled_and_traced(ground: Ground) -> None:
    """Shims, root's processes and other people's are signalled, and reached by way of /proc."""
    for pid in (ground.shim, *ground.processes):
        for number in (15, 9, 19):
            must_not(os.kill, pid, number)
        must_not(open, f"/proc/{pid}/mem", "rb+")
        must_not(os.listdir, f"/proc/{pid}/fd")
        must_not(os.stat, f"/proc/{pid}/root/")
    ground.ready()


@move()
def what_root_runs_is_changed(ground: Ground) -> None:
    """What jobs import, root's programs and the records of repairs are written to and replaced."""
    state = Path(ground.state)
    for folder in (
        state / "runtime",
        *(state / "runtime").glob("*"),
        state / "repairs",
        state / "secrets",
        state,
    ):
        must_not((folder / "of-ours").write_text, "x")
        must_not(folder.rename, folder.with_name("of-ours"))
    for file in (state / "runtime").glob("*/*.py"):
        must_not(file.open, "r+")
    for root in map(Path, ground.roots):
        must_not((root / "of-ours").write_text, "x")
        for path in (root, *(root / name for name in names_in(root))):
            must_not(path.rename, path.with_name("of-ours"))
    ground.ready()


def names_in(folder: Path) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)
    return []


@move(is_long=True)
def files_with_special_bits(ground: Ground) -> None:
    """Files of ours carry the bits that hand on user and group where root gives them away."""
    folder = ground.home / "datasets" / "7"
    with suppress(OSError):
        folder.mkdir()
        for bits in (0o4755, 0o2755, 0o6777):
            copy = folder / f"program-{bits:o}"
            shutil.copyfile("/bin/true", copy)
            copy.chmod(bits)
    ground.ready()


@move(is_long=True)
def mounts_of_our_own(ground: Ground) -> None:
    """In a user namespace of our own, a folder of root's is mounted into the workspace."""
    command = (
        f"mount --bind '{ground.outside}' '{ground.home}/datasets' && chmod 777 '{ground.home}/datasets'"
    )
    subprocess.run(["/usr/bin/unshare", "-rm", "/bin/sh", "-c", command], capture_output=True, check=False)
    ground.ready()


@move()
def backups_are_links(ground: Ground) -> None:
    """Backups, their manifests and the folder into which uploads come are links to root's."""
    state = Path(ground.state)
    with suppress(OSError):
        for name in ("groundcrew-20260101.sql.zst", "groundcrew-20260101.sql.zst.json", ".unfinished"):
            (state / "backups" / name).symlink_to(ground.secret)
        (state / "storage" / "incoming").symlink_to(ground.target)
    ground.sql("update operations set state = 'requested', claims = 0")
    operate(ground, "backup", 0, "backups")
    ground.ready()
