"""Runs a repair: prepare Ansible once, look, let the playbook run in its own process, look again. The looking decides.

The task only watches. A task worker that is restarted, by this very repair or by anything else, finds the run by
its folder and goes on watching.
"""

import subprocess
import time
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from cluster.crash_points import outside
from cluster.domain.errors import Unavailable
from cluster.domain.repair_runs import Task, Verdict, matrix_of, share_done, verdict_of
from cluster.domain.repairs import CheckKind
from cluster.files import by_descriptor
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import Entry, find_entry
from cluster.services.repair_progress import (
    begin_run,
    fail_run,
    finish_run,
    read_subject,
    record_checks,
    record_tasks,
)
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from worker.adapters import playbooks
from worker.adapters.ansible_environment import check_ansible
from worker.adapters.playbooks import CLONE, End
from worker.adapters.repair_tree import check_tree
from worker.embedded.environment import environment_path, is_built
from worker.tasks.repair_facts import run_checks
from worker.tasks.repair_look import look_at_hosts
from worker.tasks.repair_process import ask_to_end, begin, forget, run_folder
from worker.tasks.repair_pruning import prune_runs
from worker.tasks.reports import Reporter

PREPARE, LOOK, PLAY, VERIFY = "prepare_ansible", "look_before", "play", "verify"
WEIGHTS = {PREPARE: 1.0, LOOK: 1.0, PLAY: 10.0, VERIFY: 2.0}
DID_NOT_RUN = {"locked": "repair.locked", "vanished": "repair.vanished"}
LOG_MODE = 0o640
LOOK_SECONDS = 0.1
FIRST_LOOK_SECONDS = 0.04
"""Until the first task shows: whoever has clicked sits before an empty table."""
PATIENCE = timedelta(hours=24)
"""How old what a check asks for may be before the repair has run."""


def run_repair(cluster: Cluster, operation: Operation) -> None:
    """May run twice: what has begun is watched to its end. Raises Conflict, Unavailable, NotFound."""
    run = read_subject(cluster, operation)
    reporter = Reporter(cluster, operation, WEIGHTS)
    reporter.begin()
    entry = find_entry(cluster, run.name)
    folder = run_folder(cluster, run)
    if run.started_at is None:
        forget_other_life(folder)
    if not playbooks.has_begun(folder):
        if end_cancelled(cluster, operation, run):
            return
        reporter.tell(PREPARE, 0.0)
        python = ensure_ansible(cluster, log_of(cluster, operation))
        reporter.tell(LOOK, 0.0)
        refuse_changed(cluster, entry, run)
        run = look_before(cluster, operation, entry, run)
        if end_cancelled(cluster, operation, run):
            return
        begin(cluster, entry, run, python)
    reporter.tell(PLAY, 0.0)
    end = watch(cluster, operation, entry, run, folder)
    reporter.tell(VERIFY, 0.0)
    verify(cluster, operation, entry, run, end)
    prune_runs(folder.parent, partial(forget, cluster))


@outside("repairs.forget_other_life")
def forget_other_life(folder: Path) -> None:
    """A run counts as started before its folder is made: what lies there is of a life that a restore has left."""
    if folder.exists():
        with by_descriptor.folder(folder.parent) as parent:
            by_descriptor.remove_tree(parent, folder.name)


def end_cancelled(cluster: Cluster, operation: Operation, run: RepairRun) -> bool:
    """Whether a person has thought better of it while it was prepared: then it never begins."""
    if run.cancel_asked_at is None:
        return False
    finish_run(cluster, operation, Verdict.CANCELLED, None, [], code="repair.cancelled_before")
    return True


def record_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    fail_run(cluster, operation, code, data)


def log_of(cluster: Cluster, operation: Operation) -> Path:
    return cluster.settings.state_dir / "log" / f"operation-{operation.id}.log"


@outside("ansible.build")
def ensure_ansible(cluster: Cluster, log: Path) -> Path:
    """Its Python; built where this machine has none yet, which takes a minute. Raises Unavailable."""
    named = cluster.settings.ansible_programs
    if named is not None:
        return check_ansible(named).parent / "python"
    known = environment_path(cluster.settings.cache_dir, "ansible", CLONE / "requirements" / "ansible.txt")
    if is_built(known):
        return known / "bin" / "python"
    command = ["/usr/bin/python3", "-B", "-m", "worker.embedded.bootstrap", "ansible", "--path"]
    done = subprocess.run(
        command, cwd=CLONE, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode != 0 or not said:
        with by_descriptor.folder(log.parent) as logs:
            by_descriptor.write_file(logs, log.name, ("\n".join(said) + "\n").encode(), LOG_MODE)
        raise Unavailable("repair.no_ansible", line=said[-1][:300] if said else "")
    return Path(done.stdout.splitlines()[-1]) / "python"


def refuse_changed(cluster: Cluster, entry: Entry, run: RepairRun) -> None:
    """What runs is what the forecast showed, and on servers what was installed. Raises Unavailable."""
    settings = cluster.settings
    if settings.repair_door is not None and settings.ansible_dir is not None:
        with outside("playbooks.check"):
            check_tree(settings.ansible_dir)
    if entry.digest != run.digest:
        raise Unavailable("repair.files_changed", name=run.name)


def look_before(cluster: Cluster, operation: Operation, entry: Entry, run: RepairRun) -> RepairRun:
    seen = look_at_hosts(cluster, entry, run)
    answers = run_checks(cluster, entry.repair.checks, cluster.clock() - PATIENCE, seen, run.hosts)
    return begin_run(cluster, operation, [answer.to_data() for answer in answers])


def watch(cluster: Cluster, operation: Operation, entry: Entry, run: RepairRun, folder: Path) -> End:
    """Until it has ended; each change of the matrix is in the row a moment later."""
    told: list[dict[str, Any]] | None = None
    has_asked = ""
    names = [task.en for task in entry.repair.tasks]
    while True:
        end = playbooks.read_end(folder)
        tasks = matrix_of(playbooks.read_events(folder), names)
        shown = [task.to_data() for task in tasks]
        if shown != told:
            told = shown
            record_tasks(cluster, operation, shown, progress_of(tasks))
        copy_log(folder, log_of(cluster, operation))
        if end is not None:
            return end
        wish = wish_of(read_subject(cluster, operation))
        if wish != has_asked and ask_to_end(cluster, folder, is_forced=wish == "end"):
            has_asked = wish
        time.sleep(LOOK_SECONDS if any(task["hosts"] for task in shown) else FIRST_LOOK_SECONDS)


def wish_of(run: RepairRun) -> str:
    """`cancel`, `end` where that was not enough, or nothing."""
    if run.cancel_asked_at is None:
        return ""
    return "end" if run.is_forced else "cancel"


def progress_of(tasks: list[Task]) -> float:
    whole = sum(WEIGHTS.values())
    return (WEIGHTS[PREPARE] + WEIGHTS[LOOK] + WEIGHTS[PLAY] * share_done(tasks)) / whole


def copy_log(folder: Path, target: Path) -> None:
    """To where every operation's log lies, in a folder of other services; the transcript stays in its place."""
    source = playbooks.log_file(folder)
    if not source.exists():
        return
    with by_descriptor.folder(target.parent) as logs:
        if by_descriptor.size_of(logs, target.name) == source.stat().st_size:
            return
        with outside("log.copy"):
            by_descriptor.write_file(logs, target.name, source.read_bytes(), LOG_MODE)


def verify(cluster: Cluster, operation: Operation, entry: Entry, run: RepairRun, end: End) -> None:
    run = read_subject(cluster, operation)
    if run.is_look_ahead and end.rc == 0:
        finish_run(cluster, operation, Verdict.LOOKED_AHEAD, end.rc, [])
        return
    if did_not_run(entry, run, end):
        finish_run(
            cluster, operation, Verdict.BROKEN, end.rc, [], code=DID_NOT_RUN[end.status], host=run.host
        )
        return
    checks = wait_for_green(cluster, operation, entry, run, run.started_at or run.asked_at, end)
    verdict = verdict_of(checks, end.status == "canceled" or is_to_end(cluster, operation))
    finish_run(cluster, operation, verdict, end.rc, checks, host=run.host)


def is_to_end(cluster: Cluster, operation: Operation) -> bool:
    """Also while the checks are waited for, which may take a quarter of an hour."""
    return read_subject(cluster, operation).cancel_asked_at is not None


def did_not_run(entry: Entry, run: RepairRun, end: End) -> bool:
    """Whether there is nothing to look after: a run that a person ended by force has worked until then."""
    return end.status in DID_NOT_RUN and not run.is_forced and not starts_anew(entry, end)


def starts_anew(entry: Entry, end: End) -> bool:
    """Whether the run may have ended with the very machine that it starts anew: then the checks decide."""
    return end.status == "vanished" and any(
        check.kind is CheckKind.HOST_STARTED for check in entry.repair.checks
    )


def patience_of(entry: Entry) -> float:
    """Seconds: a service needs a moment to be up, so long the checks may take to turn green."""
    return float(entry.repair.settles)


def patience_after(entry: Entry, end: End) -> float:
    return patience_of(entry) if end.rc == 0 or starts_anew(entry, end) else 0.0


def wait_for_green(
    cluster: Cluster, operation: Operation, entry: Entry, run: RepairRun, since: datetime, end: End
) -> list[dict[str, Any]]:
    """A playbook that failed is looked after once; nothing more can come of it."""
    deadline = time.monotonic() + patience_after(entry, end)
    while True:
        seen = look_at_hosts(cluster, entry, run)
        found = run_checks(cluster, entry.repair.checks, since, seen, run.hosts)
        answers = [answer.to_data() for answer in found]
        is_over = time.monotonic() > deadline or is_to_end(cluster, operation)
        if is_over or all(answer["is_ok"] for answer in answers):
            return answers
        record_checks(cluster, operation, answers)
        time.sleep(1.0)
