"""Run a repair while the database does not answer; a file records the run."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cluster.domain.errors import GroundcrewError
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.repairs import offline_runs
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.store.repairs import RepairRun
from worker.adapters.host import read_host_name
from worker.console.progress_table import ConsoleRecorder
from worker.console.prompt import print_console_text, print_domain_error
from worker.repairs.driver import RepairDriver


def master_host_name(cluster: Cluster) -> str:
    """The host name that the master's agent reports."""
    return cluster.settings.master_node or read_host_name()


@dataclass
class OfflineRepairRun:
    """A run that is recorded in its file and its folder only."""

    cluster: Cluster
    run: RepairRun

    def start(self) -> None:
        """Writes the record, then begins the run."""
        with offline_runs.hold_offline_run(self.cluster, self.run):
            offline_runs.FileRecorder(self.cluster, self.run).write()
            self.drive(RepairDriver.drive)

    def resume(self) -> None:
        """Finishes a run whose console was ended, unless another console holds it.

        The run is read again under the lock, because another console may have worked on it in between.
        """
        with offline_runs.hold_offline_run(self.cluster, self.run) as is_ours:
            if not is_ours:
                print_console_text("Another console works on repair {run}.", run=self.run.number)
            elif (current := offline_runs.read_unfinished_run(self.cluster, self.run)) is not None:
                self.run = current
                print_console_text("Repair {run} was not followed to its end; going on.", run=self.run.number)
                self.drive(RepairDriver.resume)

    def drive(self, part: Callable[[RepairDriver], None]) -> None:
        """Carries out the run, or the rest of it."""
        recorder = ConsoleRecorder(self.cluster, self.run)
        log_file = self.cluster.settings.state_dir / "log" / f"operation-{self.run.offline_record}.log"
        try:
            entry = find_catalogue_entry(self.cluster, self.run.name)
            with self.interrupts_cancel():
                part(RepairDriver(self.cluster, entry, recorder, log_file, is_database_away=True))
        except GroundcrewError as error:
            print_domain_error(self.cluster, error)
            recorder.record_end(RepairVerdict.BROKEN, None, [])

    @contextmanager
    def interrupts_cancel(self) -> Iterator[None]:
        """Cancels the run at the first Ctrl-C, ends it by force at the second, and leaves the
        console at the third.
        """

        def interrupt(*_: object) -> None:
            if self.run.is_forced:
                raise KeyboardInterrupt
            offline_runs.request_offline_cancel(self.cluster, self.run)

        previous = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
