"""Run a repair while the database does not answer; a file records the run."""

import fcntl
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from cluster.domain.errors import GroundcrewError
from cluster.domain.repairs.check_results import CheckResult
from cluster.domain.repairs.definition import RepairCheck, check_inventory_host, check_reason
from cluster.domain.repairs.run_matrix import RepairVerdict, build_task_matrix, decide_verdict
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import CatalogueEntry, find_catalogue_entry
from cluster.services.repairs.offline_records import (
    list_offline_records,
    offline_record_file,
    write_offline_record,
)
from cluster.services.repairs.targets import MASTER
from cluster.store.repairs import RepairRun
from worker.adapters import playbooks
from worker.adapters.host import read_host_name
from worker.adapters.playbooks import PlaybookEnd
from worker.console.progress_table import ProgressTable, show_check_results, verdict_name
from worker.console.prompt import print_console_text, print_domain_error, print_line, terminal_sentence
from worker.repairs.check_facts import run_checks
from worker.repairs.host_probe import probe_hosts
from worker.repairs.playbook_runs import repair_run_folder, request_end, start_playbook
from worker.tasks import repairs

POLL_SECONDS = 0.25


def master_host_name(cluster: Cluster) -> str:
    """As its agent reports it."""
    return cluster.settings.master_node or read_host_name()


def new_offline_run(cluster: Cluster, entry: CatalogueEntry, reason: str, login: str) -> RepairRun:
    """Raises Refused for a reason that says nothing."""
    return RepairRun(
        offline_record=str(uuid.uuid4().int % 10**15 + 10**15),
        name=entry.repair.name,
        target=MASTER,
        host=check_inventory_host(master_host_name(cluster)),
        digest=entry.digest,
        reason=check_reason(reason),
        console_user=login,
        requested_at=cluster.clock(),
        is_forced=False,
        tasks=[{"name": task.en, "hosts": {}} for task in entry.repair.tasks],
        before=[],
        checks=[],
    )


@dataclass
class OfflineRepairRun:
    """One run that only its folder and its record know."""

    cluster: Cluster
    run: RepairRun

    @property
    def folder(self) -> Path:
        return repair_run_folder(self.cluster, self.run)

    @contextmanager
    def hold_lock(self) -> Iterator[bool]:
        """Whether it is this console's alone to work on; the lock goes with the process that holds it."""
        path = offline_record_file(self.cluster, self.run).with_suffix(".lock")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
            path.unlink(missing_ok=True)

    def start(self) -> None:
        with self.hold_lock():
            self.start_locked()

    def start_locked(self) -> None:
        """Written down first, then begun."""
        write_offline_record(self.cluster, self.run)
        try:
            entry = find_catalogue_entry(self.cluster, self.run.name)
            print_console_text("Preparing.")
            python = repairs.ensure_ansible(self.cluster, self.log_file)
            repairs.check_unchanged(self.cluster, entry, self.run)
            self.run.before = self.run_checks_now(entry, self.cluster.clock() - repairs.PROBE_AGE)
            self.run.started_at = self.cluster.clock()
            write_offline_record(self.cluster, self.run)
            start_playbook(self.cluster, entry, self.run, python)
        except GroundcrewError as error:
            print_domain_error(self.cluster, error)
            self.record_end(RepairVerdict.BROKEN, None)
            return
        print_console_text("Repair {run} has begun. Ctrl-C cancels it.", run=self.run.number)
        self.verify_and_end(entry)

    def resume(self) -> None:
        """After a console was ended in the middle; a run that another one prepares or watches is that one's."""
        with self.hold_lock() as is_ours:
            if not is_ours:
                print_console_text("Another console works on repair {run}.", run=self.run.number)
            elif self.is_unfinished():
                print_console_text("Repair {run} was not followed to its end; going on.", run=self.run.number)
                self.resume_locked()

    def is_unfinished(self) -> bool:
        """Whether nobody has ended it since it was read."""
        return any(
            each.offline_record == self.run.offline_record and each.ended_at is None
            for each in list_offline_records(self.cluster)
        )

    def resume_locked(self) -> None:
        """What has begun is watched to its end."""
        if not playbooks.has_playbook_started(self.folder):
            self.record_end(RepairVerdict.BROKEN, None)
            return
        try:
            self.verify_and_end(find_catalogue_entry(self.cluster, self.run.name))
        except GroundcrewError as error:
            print_domain_error(self.cluster, error)
            self.record_end(RepairVerdict.BROKEN, None)

    def verify_and_end(self, entry: CatalogueEntry) -> None:
        end = self.watch(entry)
        if repairs.has_not_run(entry, self.run, end):
            print_line(
                terminal_sentence(self.cluster, repairs.DID_NOT_RUN[end.status], {"host": self.run.host})
            )
            self.record_end(RepairVerdict.BROKEN, end.rc)
            return
        self.run.checks = self.wait_for_checks(entry, end)
        show_check_results(self.cluster, self.run.checks)
        self.record_end(
            decide_verdict(self.run.checks, end.status == "canceled" or bool(self.run.is_forced)), end.rc
        )

    @property
    def log_file(self) -> Path:
        return self.cluster.settings.state_dir / "log" / f"operation-{self.run.offline_record}.log"

    def watch(self, entry: CatalogueEntry) -> PlaybookEnd:
        matrix, names = ProgressTable(entry.repair), [task.en for task in entry.repair.tasks]
        has_asked = False
        while True:
            try:
                end = playbooks.read_playbook_end(self.folder)
                tasks = build_task_matrix(playbooks.read_events(self.folder), names)
                self.run.tasks = [task.to_data() for task in tasks]
                matrix.show(self.run.tasks)
                repairs.copy_log(self.folder, self.log_file)
                if end is not None:
                    return end
                time.sleep(POLL_SECONDS)
            except KeyboardInterrupt:
                self.cancel(has_asked)
                has_asked = True

    def cancel(self, is_forced: bool) -> None:
        request_end(self.cluster, self.folder, is_forced)
        if is_forced:
            self.run.is_forced = True
        else:
            print_console_text("It is asked to end. Ctrl-C once more ends it by force.")

    def wait_for_checks(self, entry: CatalogueEntry, end: PlaybookEnd) -> list[dict[str, Any]]:
        deadline = time.monotonic() + repairs.verification_seconds_after(entry, end)
        while True:
            answers = self.run_checks_now(entry, self.run.started_at or self.run.requested_at)
            if all(answer["is_ok"] for answer in answers) or time.monotonic() > deadline:
                return answers
            time.sleep(1.0)

    def run_checks_now(self, entry: CatalogueEntry, since: datetime) -> list[dict[str, Any]]:
        hosts = probe_hosts(self.cluster, entry, self.run)
        return [answer.to_data() for answer in self.check_one_by_one(entry.repair.checks, since, hosts)]

    def check_one_by_one(
        self, checks: Iterable[RepairCheck], since: datetime, hosts: Any
    ) -> Iterable[CheckResult]:
        """One by one: what the database would have to say is said to be unknown."""
        for check in checks:
            try:
                yield from run_checks(self.cluster, [check], since, hosts, self.run.hosts)
            except SQLAlchemyError:
                yield CheckResult(False, "check.not_read", {})

    def record_end(self, verdict: RepairVerdict, rc: int | None) -> None:
        self.run.verdict, self.run.playbook_rc, self.run.ended_at = verdict, rc, self.cluster.clock()
        path = write_offline_record(self.cluster, self.run)
        print_line(verdict_name(verdict))
        print_console_text("Its record is {path}; it is read in once the database answers.", path=path)
