"""A repair with the database away: the same playbook, lock and checks; a file keeps the record."""

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
from cluster.domain.repair_answers import Answer
from cluster.domain.repair_runs import Verdict, matrix_of, verdict_of
from cluster.domain.repairs import Check, check_host, check_reason
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import Entry, find_entry
from cluster.services.repair_records import file_of, list_records, write_record
from cluster.services.repair_targets import MASTER
from cluster.store.repairs import RepairRun
from worker.adapters import playbooks
from worker.adapters.host import read_name
from worker.adapters.playbooks import End
from worker.console.matrix import Matrix, show_checks, verdict_word
from worker.console.terminal import complain_of, line, said, say
from worker.tasks import repairs
from worker.tasks.repair_facts import run_checks
from worker.tasks.repair_look import look_at_hosts
from worker.tasks.repair_process import ask_to_end, begin, run_folder

LOOK_SECONDS = 0.25


def name_of_master(cluster: Cluster) -> str:
    """As its agent reports it."""
    return cluster.settings.master_node or read_name()


def new_run(cluster: Cluster, entry: Entry, reason: str, login: str) -> RepairRun:
    """Raises Refused for a reason that says nothing."""
    return RepairRun(
        record=str(uuid.uuid4().int % 10**15 + 10**15),
        name=entry.repair.name,
        target=MASTER,
        host=check_host(name_of_master(cluster)),
        digest=entry.digest,
        reason=check_reason(reason),
        console_user=login,
        asked_at=cluster.clock(),
        is_forced=False,
        tasks=[{"name": task.en, "hosts": {}} for task in entry.repair.tasks],
        before=[],
        checks=[],
    )


@dataclass
class Alone:
    """One run that only its folder and its record know."""

    cluster: Cluster
    run: RepairRun

    @property
    def folder(self) -> Path:
        return run_folder(self.cluster, self.run)

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Whether it is this console's alone to work on; the lock goes with the process that holds it."""
        path = file_of(self.cluster, self.run).with_suffix(".lock")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
            path.unlink(missing_ok=True)

    def begin(self) -> None:
        with self.held():
            self.begin_held()

    def begin_held(self) -> None:
        """Written down first, then begun."""
        write_record(self.cluster, self.run)
        try:
            entry = find_entry(self.cluster, self.run.name)
            say("Preparing.")
            python = repairs.ensure_ansible(self.cluster, self.log)
            repairs.refuse_changed(self.cluster, entry, self.run)
            self.run.before = self.ask(entry, self.cluster.clock() - repairs.PATIENCE)
            self.run.started_at = self.cluster.clock()
            write_record(self.cluster, self.run)
            begin(self.cluster, entry, self.run, python)
        except GroundcrewError as error:
            complain_of(self.cluster, error)
            self.end(Verdict.BROKEN, None)
            return
        say("Repair {run} has begun. Ctrl-C cancels it.", run=self.run.number)
        self.finish(entry)

    def go_on(self) -> None:
        """After a console was ended in the middle; a run that another one prepares or watches is that one's."""
        with self.held() as is_ours:
            if not is_ours:
                say("Another console works on repair {run}.", run=self.run.number)
            elif self.is_open():
                say("Repair {run} was not followed to its end; going on.", run=self.run.number)
                self.go_on_held()

    def is_open(self) -> bool:
        """Whether nobody has ended it since it was read."""
        return any(
            each.record == self.run.record and each.ended_at is None for each in list_records(self.cluster)
        )

    def go_on_held(self) -> None:
        """What has begun is watched to its end."""
        if not playbooks.has_begun(self.folder):
            self.end(Verdict.BROKEN, None)
            return
        try:
            self.finish(find_entry(self.cluster, self.run.name))
        except GroundcrewError as error:
            complain_of(self.cluster, error)
            self.end(Verdict.BROKEN, None)

    def finish(self, entry: Entry) -> None:
        end = self.watch(entry)
        if repairs.did_not_run(entry, self.run, end):
            line(said(self.cluster, repairs.DID_NOT_RUN[end.status], {"host": self.run.host}))
            self.end(Verdict.BROKEN, end.rc)
            return
        self.run.checks = self.wait_for_green(entry, end)
        show_checks(self.cluster, self.run.checks)
        self.end(verdict_of(self.run.checks, end.status == "canceled" or bool(self.run.is_forced)), end.rc)

    @property
    def log(self) -> Path:
        return self.cluster.settings.state_dir / "log" / f"operation-{self.run.record}.log"

    def watch(self, entry: Entry) -> End:
        matrix, names = Matrix(entry.repair), [task.en for task in entry.repair.tasks]
        has_asked = False
        while True:
            try:
                end = playbooks.read_end(self.folder)
                tasks = matrix_of(playbooks.read_events(self.folder), names)
                self.run.tasks = [task.to_data() for task in tasks]
                matrix.show(self.run.tasks)
                repairs.copy_log(self.folder, self.log)
                if end is not None:
                    return end
                time.sleep(LOOK_SECONDS)
            except KeyboardInterrupt:
                self.cancel(has_asked)
                has_asked = True

    def cancel(self, is_forced: bool) -> None:
        ask_to_end(self.cluster, self.folder, is_forced)
        if is_forced:
            self.run.is_forced = True
        else:
            say("It is asked to end. Ctrl-C once more ends it by force.")

    def wait_for_green(self, entry: Entry, end: End) -> list[dict[str, Any]]:
        deadline = time.monotonic() + repairs.patience_after(entry, end)
        while True:
            answers = self.ask(entry, self.run.started_at or self.run.asked_at)
            if all(answer["is_ok"] for answer in answers) or time.monotonic() > deadline:
                return answers
            time.sleep(1.0)

    def ask(self, entry: Entry, since: datetime) -> list[dict[str, Any]]:
        hosts = look_at_hosts(self.cluster, entry, self.run)
        return [answer.to_data() for answer in self.answers(entry.repair.checks, since, hosts)]

    def answers(self, checks: Iterable[Check], since: datetime, hosts: Any) -> Iterable[Answer]:
        """One by one: what the database would have to say is said to be unknown."""
        for check in checks:
            try:
                yield from run_checks(self.cluster, [check], since, hosts, self.run.hosts)
            except SQLAlchemyError:
                yield Answer(False, "check.not_read", {})

    def end(self, verdict: Verdict, rc: int | None) -> None:
        self.run.verdict, self.run.playbook_rc, self.run.ended_at = verdict, rc, self.cluster.clock()
        path = write_record(self.cluster, self.run)
        line(verdict_word(verdict))
        say("Its record is {path}; it is read in once the database answers.", path=path)
