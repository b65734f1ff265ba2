"""``groundcrew-console`` and ``make console``: a numbered menu of repairs for a person at the master."""

import getpass
import os
from dataclasses import replace

from sqlalchemy.exc import SQLAlchemyError

from cluster import words
from cluster.domain.errors import Conflict, GroundcrewError
from cluster.domain.people.actor import Actor
from cluster.domain.repairs.definition import Repair, check_typed_name
from cluster.domain.states import OperationState
from cluster.event_bus import NullEventBus
from cluster.logging import configure_logging
from cluster.services.context import Cluster
from cluster.services.people.users import service_actor
from cluster.services.repairs.catalogue import (
    find_catalogue_entry,
    list_offered_repairs,
    read_repair_catalogue,
)
from cluster.services.repairs.offline_records import (
    CONSOLE_ADDRESS,
    import_offline_records,
    list_offline_records,
)
from cluster.services.repairs.offline_runs import new_offline_run
from cluster.services.repairs.past_runs import list_repair_summaries
from cluster.services.repairs.previews import preview_repair
from cluster.services.repairs.repair_runs import (
    cancel_repair,
    list_repair_runs,
    read_repair_run,
    request_repair,
    require_no_other_run,
)
from cluster.settings import VERSION, Settings
from cluster.store.repairs import RepairRun
from worker.adapters.health_probes import first_line
from worker.bootstrap.terminal import language_of_terminal
from worker.composition import open_cluster
from worker.console.installation_status import (
    InstallationStatus,
    describe_limits,
    describe_status,
    has_no_task_worker,
    read_installation_status,
)
from worker.console.offline_run import OfflineRepairRun, master_host_name
from worker.console.online_run import OnlineRepairRun
from worker.console.password_links import offer_password_link
from worker.console.progress_table import verdict_name
from worker.console.prompt import (
    ask_for_line,
    bilingual_text,
    console_text,
    parse_choice,
    print_console_text,
    print_domain_error,
    print_line,
    print_title,
)
from worker.console.repair_preview import (
    describe_last_run,
    group_titles,
    show_repair_preview,
    show_repair_without_database,
)
from worker.embedded.settings_file import read_installed_settings

RUNS_SHOWN = 10


def main(arguments: list[str]) -> int:
    settings = read_installed_settings()
    write_log_to_file(settings)
    console = ConsoleMenu(open_cluster(settings), os.environ.get("SUDO_USER") or getpass.getuser())
    try:
        console.loop()
    except KeyboardInterrupt:
        print_line()
    finally:
        console.cluster.store.close()
    return 0


def write_log_to_file(settings: Settings) -> None:
    """Sends log lines to a file, so that they do not appear in the menu."""
    file = (settings.state_dir / "log" / "console.log").open("a")
    configure_logging(file=file)


class ConsoleMenu:
    """The menu. It reads the installation's status each time it is shown, because services may be back."""

    def __init__(self, cluster: Cluster, login: str) -> None:
        self.cluster = cluster
        self.bell = cluster.events
        self.login = login
        self.status = InstallationStatus(None, "", "", None)

    def loop(self) -> None:
        while True:
            shown = self.refresh_and_show()
            typed = ask_for_line(console_text("Number, or a letter:"))
            if typed is None or typed == "q":
                return
            try:
                self.handle_choice(typed, shown)
            except GroundcrewError as error:
                print_domain_error(self.cluster, error)
            except SQLAlchemyError as error:
                print_console_text(
                    "The database stopped answering: {problem}", problem=database_error_text(error)
                )

    def refresh_and_show(self) -> list[Repair]:
        """The repairs in the order of their numbers. A database that fails in between counts as away."""
        try:
            self.refresh()
            return self.show()
        except SQLAlchemyError as error:
            self.status = replace(self.status, database_error=database_error_text(error))
            return self.show()

    def refresh(self) -> None:
        """Finishes runs that a console began without the database, and imports their records once the database
        answers.
        """
        self.status = read_installation_status(self.cluster.settings)
        self.cluster = replace(self.cluster, events=NullEventBus() if self.status.redis_error else self.bell)
        for run in list_offline_records(self.cluster):
            if run.ended_at is None:
                OfflineRepairRun(self.cluster, run).resume()
        if not self.status.database_error:
            for run_id in import_offline_records(self.cluster):
                print_console_text("Read in from its record: repair {run}", run=run_id)

    def console_actor(self) -> Actor:
        """The installation itself, with the name of the person who is signed in at the machine."""
        return replace(service_actor(self.cluster), name=self.login, address=CONSOLE_ADDRESS)

    def show(self) -> list[Repair]:
        print_title(f"Groundcrew {VERSION} · {master_host_name(self.cluster)}")
        for each in (
            *describe_status(self.status, self.cluster.settings),
            *describe_limits(self.status, self.cluster.settings),
        ):
            print_line(each)
        shown = self.show_catalogue()
        print_line()
        print_console_text("  l  look again      r  last runs      f  forgotten password      q  leave")
        return shown

    def show_catalogue(self) -> list[Repair]:
        """Prints the catalogue and returns the repairs in the order of their numbers."""
        catalogue = read_repair_catalogue(self.cluster)
        entries, last = catalogue.entries, {}
        for broken in catalogue.broken.values():
            print_domain_error(self.cluster, broken)
        if not self.status.database_error:
            known = list_repair_summaries(self.cluster, self.console_actor())
            last = {each.repair.name: describe_last_run(self.cluster, each) for each in known}
        shown: list[Repair] = []
        for group, word in group_titles().items():
            repairs = [entry.repair for entry in entries.values() if entry.repair.group is group]
            if repairs:
                print_line()
                print_line(word)
            for repair in repairs:
                shown.append(repair)
                remark = f"  ({last[repair.name]})" if repair.name in last else ""
                print_line(f"  {len(shown):>2}  {bilingual_text(repair.title)}{remark}")
        if not shown:
            print_console_text("This installation offers no repairs.")
        return shown

    def handle_choice(self, typed: str, shown: list[Repair]) -> None:
        if number := parse_choice(typed, len(shown)):
            self.offer_repair(shown[number - 1])
        elif typed == "r" and not self.status.database_error:
            self.show_runs()
        elif typed == "f" and not self.status.database_error:
            offer_password_link(self.cluster, self.console_actor())
        elif typed in ("r", "f"):
            print_console_text("That needs the database, which does not answer.")
        elif typed not in ("l", ""):
            print_console_text("There is no {typed} in this menu.", typed=typed[:20])

    def show_runs(self) -> None:
        entries, language = list_offered_repairs(self.cluster), language_of_terminal()
        for run in list_repair_runs(self.cluster, self.console_actor(), limit=RUNS_SHOWN):
            what = bilingual_text(entries[run.name].repair.title) if run.name in entries else run.name
            word = (
                verdict_name(run.verdict)
                if run.verdict
                else words.word("state.operation", "running", language)
            )
            at = words.format_short_datetime(
                run.requested_at, self.cluster.settings.zone, self.cluster.clock()
            )
            print_line(f"  {run.id:>4}  {at}  {word}  {what}  {run.who}: {run.reason}")

    def offer_repair(self, repair: Repair) -> None:
        if self.status.database_error:
            self.offer_offline_run(repair)
        else:
            self.offer_online_run(repair)

    def offer_offline_run(self, repair: Repair) -> None:
        host = master_host_name(self.cluster)
        if repair.lists or repair.needs_drained_nodes:
            print_console_text("That needs the database, which does not answer.")
            return
        show_repair_without_database(repair, host)
        confirmed = self.confirm(repair, host)
        if confirmed is None:
            return
        entry = find_catalogue_entry(self.cluster, repair.name)
        run = new_offline_run(self.cluster, entry, host, confirmed[0], self.login)
        OfflineRepairRun(self.cluster, run).start()

    def offer_online_run(self, repair: Repair) -> None:
        """Runs the repair if nothing has changed since its preview. Otherwise it shows the new preview."""
        nodes = self.choose_nodes(repair)
        if nodes is None:
            return
        while True:
            seen = preview_repair(self.cluster, self.console_actor(), repair.name, nodes)
            show_repair_preview(self.cluster, seen)
            if seen.under_way is not None:
                if self.offer_to_follow(seen.under_way):
                    continue
                return
            confirmed = self.confirm(repair, seen.host)
            if confirmed is None:
                return
            reason, typed = confirmed
            try:
                run = request_repair(
                    self.cluster,
                    self.console_actor(),
                    repair.name,
                    seen.etag,
                    reason,
                    typed,
                    self.login,
                    nodes,
                )
            except Conflict as changed:
                print_domain_error(self.cluster, changed)
                continue
            self.follow(run.id)
            return

    def choose_nodes(self, repair: Repair) -> list[int] | None:
        """The ids of the chosen nodes, or none if there is nothing to choose. None if the person leaves the menu."""
        seen = preview_repair(self.cluster, self.console_actor(), repair.name)
        if seen.targets:
            return []
        for number, choice in enumerate(seen.choices, 1):
            print_line(f"  {number:>2}  {choice.host}")
        typed = (
            ask_for_line(console_text("On which nodes? Numbers with spaces between them, or nothing:")) or ""
        )
        chosen = [parse_choice(word, len(seen.choices)) for word in typed.split()]
        if None in chosen:
            print_console_text("There is no {typed} in this menu.", typed=typed[:20])
        known = [seen.choices[number - 1].node_id for number in chosen if number]
        return None if None in chosen or not chosen else [node_id for node_id in known if node_id]

    def offer_to_follow(self, run: RepairRun) -> bool:
        """Returns True if an interrupted run has been closed, so that its targets are free for a new run."""
        try:
            require_no_other_run(run)
        except Conflict as conflict:
            print_domain_error(self.cluster, conflict)
        operation = run.operation
        if operation is not None and operation.state is OperationState.INTERRUPTED:
            # Its targets are locked until a person closes it, so no other run can begin there.
            if (
                ask_for_line(
                    console_text("It was given up half-way. Close it and see a new preview? y or nothing:")
                )
                != "y"
            ):
                return False
            cancel_repair(self.cluster, self.console_actor(), run.id)
            return True
        if ask_for_line(console_text("Follow it? y or nothing:")) == "y":
            self.follow(run.id)
        return False

    def confirm(self, repair: Repair, host: str) -> tuple[str, str] | None:
        """The reason and the typed name. None if the person leaves the menu."""
        reason = ask_for_line(console_text("Why? The access log keeps it. Nothing leaves it:"))
        if not reason:
            return None
        typed = ""
        if repair.needs_typed_name:
            typed = ask_for_line(console_text("Type the name {name}:", name=host)) or ""
            check_typed_name(repair, typed, host)
        return reason, typed

    def follow(self, run_id: int) -> None:
        run = read_repair_run(self.cluster, self.console_actor(), run_id)
        is_alone = has_no_task_worker(self.status, self.cluster.settings)
        OnlineRepairRun(self.cluster, self.console_actor(), run, is_alone).follow()


def database_error_text(error: SQLAlchemyError) -> str:
    return first_line(error.__cause__ or error)
