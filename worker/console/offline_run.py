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
    """As its agent reports it."""
    return cluster.settings.master_node or read_host_name()


@dataclass
class OfflineRepairRun:
    """One run that only its folder and its record know."""

    cluster: Cluster
    run: RepairRun

    def start(self) -> None:
        """Written down first, then begun."""
        with offline_runs.hold_offline_run(self.cluster, self.run):
            offline_runs.FileRecorder(self.cluster, self.run).write()
            self.drive(RepairDriver.drive)

    def resume(self) -> None:
        """After a console was ended in the middle; a run that another one prepares or watches is that one's."""
        with offline_runs.hold_offline_run(self.cluster, self.run) as is_ours:
            if not is_ours:
                print_console_text("Another console works on repair {run}.", run=self.run.number)
            elif offline_runs.is_offline_run_unfinished(self.cluster, self.run):
                print_console_text("Repair {run} was not followed to its end; going on.", run=self.run.number)
                self.drive(RepairDriver.resume)

    def drive(self, part: Callable[[RepairDriver], None]) -> None:
        """All of the run, or what is left of it."""
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
        """Ctrl-C cancels the run, the second one by force, and the third leaves the console."""

        def interrupt(*_: object) -> None:
            if self.run.is_forced:
                raise KeyboardInterrupt
            offline_runs.request_offline_cancel(self.cluster, self.run)

        previous = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
