"""Runs a repair: prepares Ansible, probes, runs the playbook in a process of its own, and probes again; the checks
decide the verdict.

The task only watches. A task worker that is restarted, by this very repair or by anything else, finds the run by
its folder and goes on watching.
"""

import subprocess
import time
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from cluster.domain.errors import Unavailable
from cluster.domain.repairs.definition import CheckKind
from cluster.domain.repairs.run_matrix import (
    RepairVerdict,
    TaskProgress,
    build_task_matrix,
    decide_verdict,
    share_of_tasks_done,
)
from cluster.failpoints import external_call
from cluster.files import safe_files
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import CatalogueEntry, find_catalogue_entry
from cluster.services.repairs.run_recorder import (
    read_run_of_operation,
    record_run_checks,
    record_run_end,
    record_run_failure,
    record_run_start,
    record_run_tasks,
)
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from worker.adapters import playbooks
from worker.adapters.ansible_environment import check_ansible
from worker.adapters.installed_playbooks import check_installed_playbooks
from worker.adapters.playbooks import CLONE, PlaybookEnd
from worker.bootstrap.virtual_environments import is_built, virtual_environment_path
from worker.repairs.check_facts import run_checks
from worker.repairs.host_probe import probe_hosts
from worker.repairs.playbook_runs import (
    delete_run_folder_of,
    prune_run_folders,
    repair_run_folder,
    request_end,
    start_playbook,
)
from worker.tasks.step_progress import StepProgress

STEP_PREPARE, STEP_PROBE, STEP_PLAYBOOK, STEP_VERIFY = "prepare_ansible", "look_before", "play", "verify"
WEIGHTS = {STEP_PREPARE: 1.0, STEP_PROBE: 1.0, STEP_PLAYBOOK: 10.0, STEP_VERIFY: 2.0}
DID_NOT_RUN = {"locked": "repair.locked", "vanished": "repair.vanished"}
LOG_MODE = 0o640
POLL_SECONDS = 0.1
FIRST_POLL_SECONDS = 0.04
"""Until the first task shows: whoever has clicked sits before an empty table."""
PROBE_AGE = timedelta(hours=24)
"""How old what a check asks for may be before the repair has run."""


def run_repair(cluster: Cluster, operation: Operation) -> None:
    """May run twice: what has begun is watched to its end. Raises Conflict, Unavailable, NotFound."""
    run = read_run_of_operation(cluster, operation)
    reporter = StepProgress(cluster, operation, WEIGHTS)
    reporter.start()
    entry = find_catalogue_entry(cluster, run.name)
    folder = repair_run_folder(cluster, run)
    if run.started_at is None:
        remove_stale_run_folder(folder)
    if not playbooks.has_playbook_started(folder):
        if finish_if_cancelled(cluster, operation, run):
            return
        reporter.report(STEP_PREPARE, 0.0)
        python = ensure_ansible(cluster, operation_log(cluster, operation))
        reporter.report(STEP_PROBE, 0.0)
        check_unchanged(cluster, entry, run)
        run = probe_before(cluster, operation, entry, run)
        if finish_if_cancelled(cluster, operation, run):
            return
        start_playbook(cluster, entry, run, python)
    reporter.report(STEP_PLAYBOOK, 0.0)
    end = watch_playbook(cluster, operation, entry, run, folder)
    reporter.report(STEP_VERIFY, 0.0)
    verify_and_finish(cluster, operation, entry, run, end)
    prune_run_folders(folder.parent, partial(delete_run_folder_of, cluster))


@external_call("repairs.forget_other_life")
def remove_stale_run_folder(folder: Path) -> None:
    """A run counts as started before its folder is made: what lies there is of a life that a restore has left."""
    if folder.exists():
        with safe_files.open_folder_path(folder.parent) as parent:
            safe_files.remove_tree(parent, folder.name)


def finish_if_cancelled(cluster: Cluster, operation: Operation, run: RepairRun) -> bool:
    """Whether a person has thought better of it while it was prepared: then it never begins."""
    if run.cancel_requested_at is None:
        return False
    record_run_end(cluster, operation, RepairVerdict.CANCELLED, None, [], code="repair.cancelled_before")
    return True


def record_repair_failure(cluster: Cluster, operation: Operation, code: str, data: dict[str, Any]) -> None:
    record_run_failure(cluster, operation, code, data)


def operation_log(cluster: Cluster, operation: Operation) -> Path:
    return cluster.settings.state_dir / "log" / f"operation-{operation.id}.log"


@external_call("ansible.build")
def ensure_ansible(cluster: Cluster, log: Path) -> Path:
    """Its Python; built where this machine has none yet, which takes a minute. Raises Unavailable."""
    named = cluster.settings.ansible_programs
    if named is not None:
        return check_ansible(named).parent / "python"
    known = virtual_environment_path(
        cluster.settings.cache_dir, "ansible", CLONE / "requirements" / "ansible.txt"
    )
    if is_built(known):
        return known / "bin" / "python"
    command = ["/usr/bin/python3", "-B", "-m", "worker.bootstrap", "ansible", "--path"]
    done = subprocess.run(
        command, cwd=CLONE, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode != 0 or not said:
        with safe_files.open_folder_path(log.parent) as logs:
            safe_files.replace_file(logs, log.name, ("\n".join(said) + "\n").encode(), LOG_MODE)
        raise Unavailable("repair.no_ansible", line=said[-1][:300] if said else "")
    return Path(done.stdout.splitlines()[-1]) / "python"


def check_unchanged(cluster: Cluster, entry: CatalogueEntry, run: RepairRun) -> None:
    """What runs is what the forecast showed, and on servers what was installed. Raises Unavailable."""
    settings = cluster.settings
    if settings.repair_broker is not None and settings.ansible_dir is not None:
        with external_call("playbooks.check"):
            check_installed_playbooks(settings.ansible_dir)
    if entry.digest != run.digest:
        raise Unavailable("repair.files_changed", name=run.name)


def probe_before(cluster: Cluster, operation: Operation, entry: CatalogueEntry, run: RepairRun) -> RepairRun:
    seen = probe_hosts(cluster, entry, run)
    answers = run_checks(cluster, entry.repair.checks, cluster.clock() - PROBE_AGE, seen, run.hosts)
    return record_run_start(cluster, operation, [answer.to_data() for answer in answers])


def watch_playbook(
    cluster: Cluster, operation: Operation, entry: CatalogueEntry, run: RepairRun, folder: Path
) -> PlaybookEnd:
    """Until it has ended; each change of the matrix is in the row a moment later."""
    told: list[dict[str, Any]] | None = None
    has_asked = ""
    names = [task.en for task in entry.repair.tasks]
    while True:
        end = playbooks.read_playbook_end(folder)
        tasks = build_task_matrix(playbooks.read_events(folder), names)
        shown = [task.to_data() for task in tasks]
        if shown != told:
            told = shown
            record_run_tasks(cluster, operation, shown, run_progress(tasks))
        copy_log(folder, operation_log(cluster, operation))
        if end is not None:
            return end
        wish = requested_end(read_run_of_operation(cluster, operation))
        if wish != has_asked and request_end(cluster, folder, is_forced=wish == "end"):
            has_asked = wish
        time.sleep(POLL_SECONDS if any(task["hosts"] for task in shown) else FIRST_POLL_SECONDS)


def requested_end(run: RepairRun) -> str:
    """`cancel`, `end` where that was not enough, or nothing."""
    if run.cancel_requested_at is None:
        return ""
    return "end" if run.is_forced else "cancel"


def run_progress(tasks: list[TaskProgress]) -> float:
    whole = sum(WEIGHTS.values())
    return (
        WEIGHTS[STEP_PREPARE] + WEIGHTS[STEP_PROBE] + WEIGHTS[STEP_PLAYBOOK] * share_of_tasks_done(tasks)
    ) / whole


def copy_log(folder: Path, target: Path) -> None:
    """To where every operation's log lies, in a folder of other services; the transcript stays in its place."""
    source = playbooks.log_file(folder)
    if not source.exists():
        return
    with safe_files.open_folder_path(target.parent) as logs:
        if safe_files.size_at(logs, target.name) == source.stat().st_size:
            return
        with external_call("log.copy"):
            safe_files.replace_file(logs, target.name, source.read_bytes(), LOG_MODE)


def verify_and_finish(
    cluster: Cluster, operation: Operation, entry: CatalogueEntry, run: RepairRun, end: PlaybookEnd
) -> None:
    run = read_run_of_operation(cluster, operation)
    if run.is_dry_run and end.rc == 0:
        record_run_end(cluster, operation, RepairVerdict.DRY_RUN, end.rc, [])
        return
    if has_not_run(entry, run, end):
        record_run_end(
            cluster, operation, RepairVerdict.BROKEN, end.rc, [], code=DID_NOT_RUN[end.status], host=run.host
        )
        return
    checks = wait_for_checks(cluster, operation, entry, run, run.started_at or run.requested_at, end)
    verdict = decide_verdict(checks, end.status == "canceled" or is_cancel_requested(cluster, operation))
    record_run_end(cluster, operation, verdict, end.rc, checks, host=run.host)


def is_cancel_requested(cluster: Cluster, operation: Operation) -> bool:
    """Also while the checks are waited for, which may take a quarter of an hour."""
    return read_run_of_operation(cluster, operation).cancel_requested_at is not None


def has_not_run(entry: CatalogueEntry, run: RepairRun, end: PlaybookEnd) -> bool:
    """Whether there is nothing to look after: a run that a person ended by force has worked until then."""
    return end.status in DID_NOT_RUN and not run.is_forced and not reboots_host(entry, end)


def reboots_host(entry: CatalogueEntry, end: PlaybookEnd) -> bool:
    """Whether the run may have ended with the very machine that it starts anew: then the checks decide."""
    return end.status == "vanished" and any(
        check.kind is CheckKind.HOST_STARTED for check in entry.repair.checks
    )


def verification_seconds(entry: CatalogueEntry) -> float:
    """Seconds: a service needs a moment to be up, so long the checks may take to turn green."""
    return float(entry.repair.verify_timeout)


def verification_seconds_after(entry: CatalogueEntry, end: PlaybookEnd) -> float:
    return verification_seconds(entry) if end.rc == 0 or reboots_host(entry, end) else 0.0


def wait_for_checks(
    cluster: Cluster,
    operation: Operation,
    entry: CatalogueEntry,
    run: RepairRun,
    since: datetime,
    end: PlaybookEnd,
) -> list[dict[str, Any]]:
    """A playbook that failed is looked after once; nothing more can come of it."""
    deadline = time.monotonic() + verification_seconds_after(entry, end)
    while True:
        seen = probe_hosts(cluster, entry, run)
        found = run_checks(cluster, entry.repair.checks, since, seen, run.hosts)
        answers = [answer.to_data() for answer in found]
        is_over = time.monotonic() > deadline or is_cancel_requested(cluster, operation)
        if is_over or all(answer["is_ok"] for answer in answers):
            return answers
        record_run_checks(cluster, operation, answers)
        time.sleep(1.0)
