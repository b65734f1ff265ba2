"""Drives one repair run: prepares Ansible, probes, runs the playbook in a process of its own, and probes again; the
checks decide the verdict.

The playbook does not depend on the driver: a task worker or a console that is restarted, perhaps by this very repair,
finds the run by its folder and watches it again.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from cluster.domain.repairs.definition import CheckKind, RepairGroup
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
"""The time until the first poll, because a person is waiting before an empty table."""
CHECK_SECONDS = 1.0
PROBE_AGE = timedelta(hours=24)
"""The age of the events that checks count before the repair has run."""
Data = Sequence[dict[str, Any]]


class RepairRecorder(Protocol):
    """Records a run while it is driven: in its row, or in a file while the database is away.

    Each method raises Conflict if another driver has taken over the run.
    """

    def read_run(self) -> RepairRun:
        """The run as it is recorded now, including a person's request to cancel it."""

    def record_step(self, step: str) -> None:
        """Records that one of the STEP_ codes begins."""

    def record_start(self, before: Data) -> None:
        """Records that the playbook begins. `before` are the results of the checks before anything was changed."""

    def record_tasks(self, tasks: Data, share: float) -> None:
        """Records the tasks. `share` of them has ended, 0 to 1."""

    def record_checks(self, checks: Data) -> None:
        """Records the result of each check while the verification waits."""

    def record_end(self, verdict: RepairVerdict, rc: int | None, checks: Data, code: str = "") -> None:
        """Records the end. `code` is a reason beyond the verdict."""


@dataclass
class RepairDriver:
    """Drives one run. The recorded state decides where it continues."""

    cluster: Cluster
    entry: CatalogueEntry
    recorder: RepairRecorder
    log_file: Path
    """The copy of the playbook's log that people read."""
    is_database_away: bool = False
    """If it is set, checks that need the database are red and say so."""

    @property
    def folder(self) -> Path:
        return playbook_runs.repair_run_folder(self.cluster, self.recorder.read_run())

    def drive(self) -> None:
        """Drives the run to its end; may be called again. Raises Conflict, Unavailable."""
        if self.recorder.read_run().started_at is None:
            playbook_runs.remove_stale_run_folder(self.folder)
        if playbooks.has_playbook_started(self.folder) or self.begin():
            self.follow()

    def resume(self) -> None:
        """Follows a run that has begun to its end. One that has not begun is given up, because the person who
        requested it is gone.
        """
        if playbooks.has_playbook_started(self.folder):
            self.follow()
        else:
            self.recorder.record_end(RepairVerdict.BROKEN, None, [])

    def begin(self) -> bool:
        """Prepares and starts the playbook. Returns False if a person cancelled the run before; then it has ended."""
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
        """Follows the run from the start of its playbook to its verdict."""
        self.recorder.record_step(STEP_PLAYBOOK)
        end = self.watch_playbook()
        self.recorder.record_step(STEP_VERIFY)
        self.verify_and_end(end)
        playbook_runs.prune_run_folders(
            self.folder.parent, lambda folder: playbook_runs.delete_run_folder_of(self.cluster, folder)
        )

    def watch_playbook(self) -> PlaybookEnd:
        """Waits until the playbook has ended. Each change of the matrix is recorded a moment later."""
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
            was_cancelled = end.status == "canceled" or self.is_cancel_requested()
            only_looks = self.entry.repair.group is RepairGroup.CHECK
            verdict = decide_verdict(checks, was_cancelled, only_looks and end.rc != 0)
            self.recorder.record_end(verdict, end.rc, checks)

    def is_cancel_requested(self) -> bool:
        """Whether a person requests the end, also during the wait for the checks, which may take a quarter of an
        hour.
        """
        return self.recorder.read_run().cancel_requested_at is not None

    def wait_for_checks(self, end: PlaybookEnd) -> Data:
        """Waits until the checks are green. After a failed playbook they are evaluated once."""
        deadline = time.monotonic() + verification_seconds_after(self.entry, end)
        while True:
            checks = self.read_checks()
            is_over = time.monotonic() > deadline or self.is_cancel_requested()
            if is_over or all(check["is_ok"] for check in checks):
                return checks
            self.recorder.record_checks(checks)
            time.sleep(CHECK_SECONDS)

    def read_checks(self, age: timedelta | None = None) -> Data:
        """The results of the checks for the time since the run began, or for the last `age` before it has begun."""
        run = self.recorder.read_run()
        since = run.started_at or run.requested_at if age is None else self.cluster.clock() - age
        results = run_checks(self.cluster, self.entry, run, since, self.is_database_away)
        return [result.to_data() for result in results]


def requested_end(run: RepairRun) -> str:
    """`cancel`, `end` if a person ends it by force, or an empty string."""
    if run.cancel_requested_at is None:
        return ""
    return "end" if run.is_forced else "cancel"


def has_not_run(entry: CatalogueEntry, run: RepairRun, end: PlaybookEnd) -> bool:
    """Whether there is nothing to verify. A run that a person ended by force may have changed something before."""
    return end.status in DID_NOT_RUN and not run.is_forced and not reboots_host(entry, end)


def reboots_host(entry: CatalogueEntry, end: PlaybookEnd) -> bool:
    """Whether the run may have ended because it reboots this machine. Then the checks decide."""
    return end.status == "vanished" and any(
        check.kind is CheckKind.HOST_STARTED for check in entry.repair.checks
    )


def verification_seconds(entry: CatalogueEntry) -> float:
    """Seconds in which the checks may turn green, because services need time to start."""
    return float(entry.repair.verify_timeout)


def verification_seconds_after(entry: CatalogueEntry, end: PlaybookEnd) -> float:
    return verification_seconds(entry) if end.rc == 0 or reboots_host(entry, end) else 0.0
