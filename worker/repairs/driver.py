"""Drives one repair run: prepares Ansible, probes, runs the playbook in a process of its own, and probes again; the
checks decide the verdict.

The driver only watches. A task worker or a console that is restarted, by this very repair or by anything else, finds
the run by its folder and goes on watching.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from cluster.domain.repairs.definition import CheckKind
from cluster.domain.repairs.run_matrix import RepairVerdict, TaskMatrix, decide_verdict
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import CatalogueEntry
from cluster.store.repairs import RepairRun
from worker.adapters import playbooks
from worker.adapters.playbooks import PlaybookEnd
from worker.repairs import playbook_runs
from worker.repairs.check_facts import run_checks

STEP_PREPARE, STEP_PROBE, STEP_PLAYBOOK, STEP_VERIFY = "prepare_ansible", "look_before", "play", "verify"
DID_NOT_RUN = {"locked": "repair.locked", "vanished": "repair.vanished"}
POLL_SECONDS = 0.1
FIRST_POLL_SECONDS = 0.04
"""Until the first task shows: whoever has clicked sits before an empty table."""
CHECK_SECONDS = 1.0
PROBE_AGE = timedelta(hours=24)
"""How old what a check asks for may be before the repair has run."""
Data = Sequence[dict[str, Any]]


class RepairRecorder(Protocol):
    """Writes a run down while it is driven: in its row, or in a file while the database is away.

    Each method raises Conflict once the run belongs to another driver.
    """

    def read_run(self) -> RepairRun:
        """As it is recorded now, with a person's request to cancel it."""

    def record_step(self, step: str) -> None:
        """One of the STEP_ codes begins."""

    def record_start(self, before: Data) -> None:
        """`before` is what the checks said before anything was changed; the playbook begins now."""

    def record_tasks(self, tasks: Data, share: float) -> None:
        """`share` of the tasks that have ended, 0 to 1."""

    def record_checks(self, checks: Data) -> None:
        """What each check says while the verification waits."""

    def record_end(self, verdict: RepairVerdict, rc: int | None, checks: Data, code: str = "") -> None:
        """`code` says why where the verdict does not."""


@dataclass
class RepairDriver:
    """Carries out one run; what its recorder has written before decides where it goes on."""

    cluster: Cluster
    entry: CatalogueEntry
    recorder: RepairRecorder
    log_file: Path
    """Where the log of the playbook is copied to, for people."""
    is_database_away: bool = False
    """Then checks that need the database are red and say so."""

    @property
    def folder(self) -> Path:
        return playbook_runs.repair_run_folder(self.cluster, self.recorder.read_run())

    def drive(self) -> None:
        """May be called again: what has begun is watched to its end. Raises Conflict, Unavailable."""
        if self.recorder.read_run().started_at is None:
            playbook_runs.remove_stale_run_folder(self.folder)
        if playbooks.has_playbook_started(self.folder) or self.begin():
            self.follow()

    def resume(self) -> None:
        """What has begun is watched to its end; what has not is given up, since whoever asked for it has left."""
        if playbooks.has_playbook_started(self.folder):
            self.follow()
        else:
            self.recorder.record_end(RepairVerdict.BROKEN, None, [])

    def begin(self) -> bool:
        """False where a person has cancelled it before its playbook began: then it has ended."""
        if self.end_if_cancelled():
            return False
        self.recorder.record_step(STEP_PREPARE)
        python = playbook_runs.ensure_ansible(self.cluster, self.log_file)
        self.recorder.record_step(STEP_PROBE)
        playbook_runs.check_unchanged(self.cluster, self.entry, self.recorder.read_run())
        self.recorder.record_start(self.read_checks(PROBE_AGE))
        if self.end_if_cancelled():
            return False
        playbook_runs.start_playbook(self.cluster, self.entry, self.recorder.read_run(), python)
        return True

    def end_if_cancelled(self) -> bool:
        if self.recorder.read_run().cancel_requested_at is None:
            return False
        self.recorder.record_end(RepairVerdict.CANCELLED, None, [], "repair.cancelled_before")
        return True

    def follow(self) -> None:
        """From the start of its playbook to its verdict."""
        self.recorder.record_step(STEP_PLAYBOOK)
        end = self.watch_playbook()
        self.recorder.record_step(STEP_VERIFY)
        self.verify_and_end(end)
        playbook_runs.prune_run_folders(
            self.folder.parent, lambda folder: playbook_runs.delete_run_folder_of(self.cluster, folder)
        )

    def watch_playbook(self) -> PlaybookEnd:
        """Until it has ended; each change of the matrix is recorded a moment later."""
        folder = self.folder
        matrix, events = (
            TaskMatrix(task.en for task in self.entry.repair.tasks),
            playbooks.EventReader(folder),
        )
        recorded: Data | None = None
        requested = ""
        while True:
            end = playbooks.read_playbook_end(folder)
            matrix.add_events(events.read_new_events())
            tasks = matrix.to_data()
            if tasks != recorded:
                recorded = tasks
                self.recorder.record_tasks(tasks, matrix.share_done())
            playbook_runs.copy_log(folder, self.log_file)
            if end is not None:
                return end
            wish = requested_end(self.recorder.read_run())
            if wish != requested and playbook_runs.request_end(self.cluster, folder, is_forced=wish == "end"):
                requested = wish
            time.sleep(POLL_SECONDS if any(task["hosts"] for task in tasks) else FIRST_POLL_SECONDS)

    def verify_and_end(self, end: PlaybookEnd) -> None:
        run = self.recorder.read_run()
        if run.is_dry_run and end.rc == 0:
            self.recorder.record_end(RepairVerdict.DRY_RUN, end.rc, [])
        elif has_not_run(self.entry, run, end):
            self.recorder.record_end(RepairVerdict.BROKEN, end.rc, [], DID_NOT_RUN[end.status])
        else:
            checks = self.wait_for_checks(end)
            verdict = decide_verdict(checks, end.status == "canceled" or self.is_cancel_requested())
            self.recorder.record_end(verdict, end.rc, checks)

    def is_cancel_requested(self) -> bool:
        """Also while the checks are waited for, which may take a quarter of an hour."""
        return self.recorder.read_run().cancel_requested_at is not None

    def wait_for_checks(self, end: PlaybookEnd) -> Data:
        """A playbook that failed is looked after once; nothing more can come of it."""
        deadline = time.monotonic() + verification_seconds_after(self.entry, end)
        while True:
            checks = self.read_checks()
            is_over = time.monotonic() > deadline or self.is_cancel_requested()
            if is_over or all(check["is_ok"] for check in checks):
                return checks
            self.recorder.record_checks(checks)
            time.sleep(CHECK_SECONDS)

    def read_checks(self, age: timedelta | None = None) -> Data:
        """What they say of everything since the run began, or of the last `age` before it has."""
        run = self.recorder.read_run()
        since = run.started_at or run.requested_at if age is None else self.cluster.clock() - age
        results = run_checks(self.cluster, self.entry, run, since, self.is_database_away)
        return [result.to_data() for result in results]


def requested_end(run: RepairRun) -> str:
    """`cancel`, `end` where that was not enough, or nothing."""
    if run.cancel_requested_at is None:
        return ""
    return "end" if run.is_forced else "cancel"


def has_not_run(entry: CatalogueEntry, run: RepairRun, end: PlaybookEnd) -> bool:
    """Whether there is nothing to look after: a run that a person ended by force has worked until then."""
    return end.status in DID_NOT_RUN and not run.is_forced and not reboots_host(entry, end)


def reboots_host(entry: CatalogueEntry, end: PlaybookEnd) -> bool:
    """Whether the run may have ended with the very machine that it starts anew: then the checks decide."""
    return end.status == "vanished" and any(
        check.kind is CheckKind.HOST_STARTED for check in entry.repair.checks
    )


def verification_seconds(entry: CatalogueEntry) -> float:
    """Seconds that the checks may take to turn green: a service needs a moment to be up."""
    return float(entry.repair.verify_timeout)


def verification_seconds_after(entry: CatalogueEntry, end: PlaybookEnd) -> float:
    return verification_seconds(entry) if end.rc == 0 or reboots_host(entry, end) else 0.0
