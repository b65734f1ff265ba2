"""``groundcrew-console`` and ``make console``: a numbered menu of repairs for whoever sits at the master."""

import getpass
import os
from dataclasses import replace

import structlog
from sqlalchemy.exc import SQLAlchemyError

from cluster.bell import SilentBell
from cluster.domain.errors import Conflict, GroundcrewError
from cluster.domain.people import Actor
from cluster.domain.repairs import Repair, check_typed
from cluster.domain.states import OperationState
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import find_entry, read_catalogue, read_files
from cluster.services.repair_records import CONSOLE, list_records, read_in
from cluster.services.repairs import (
    cancel_repair,
    forecast,
    list_repairs,
    list_runs,
    read_run,
    refuse_second,
    request_repair,
)
from cluster.services.users import service_actor
from cluster.settings import VERSION, Settings
from cluster.store.repairs import RepairRun
from worker.adapters.reachable import first_line
from worker.console.alone import Alone, name_of_master, new_run
from worker.console.asked import Following
from worker.console.forecast import group_words, last_time, show_forecast, show_without_database
from worker.console.matrix import verdict_word
from worker.console.passwords import help_in
from worker.console.stand import Stand, limits_of, lines_of, look, nobody_hears
from worker.console.terminal import answer, complain_of, in_words, line, read_number, say, text, title
from worker.embedded.own_settings import own_settings
from worker.wiring import open_cluster

RUNS_SHOWN = 10


def main(arguments: list[str]) -> int:
    settings = own_settings()
    write_log_to_file(settings)
    console = Console(open_cluster(settings), os.environ.get("SUDO_USER") or getpass.getuser())
    try:
        console.loop()
    except KeyboardInterrupt:
        line()
    finally:
        console.cluster.store.close()
    return 0


def write_log_to_file(settings: Settings) -> None:
    """What the services would log must not run through the menu."""
    file = (settings.state_dir / "log" / "console.log").open("a")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        logger_factory=structlog.WriteLoggerFactory(file),
    )


class Console:
    """Looks anew each time the menu is shown: what was down may be back."""

    def __init__(self, cluster: Cluster, login: str) -> None:
        self.cluster = cluster
        self.bell = cluster.bell
        self.login = login
        self.stand = Stand(None, "", "", None)

    def loop(self) -> None:
        while True:
            shown = self.look_and_show()
            typed = answer(text("Number, or a letter:"))
            if typed is None or typed == "q":
                return
            try:
                self.do(typed, shown)
            except GroundcrewError as error:
                complain_of(self.cluster, error)
            except SQLAlchemyError as error:
                say("The database stopped answering: {problem}", problem=problem_of(error))

    def look_and_show(self) -> list[Repair]:
        """The repairs by their numbers. A database that answers and then does not, or in part, counts as away."""
        try:
            self.look()
            return self.show()
        except SQLAlchemyError as error:
            self.stand = replace(self.stand, database=problem_of(error))
            return self.show()

    def look(self) -> None:
        """What this console did without the database is finished and read in, once it can be."""
        self.stand = look(self.cluster.settings)
        self.cluster = replace(self.cluster, bell=SilentBell() if self.stand.redis else self.bell)
        for run in list_records(self.cluster):
            if run.ended_at is None:
                Alone(self.cluster, run).go_on()
        if not self.stand.database:
            for run_id in read_in(self.cluster):
                say("Read in from its record: repair {run}", run=run_id)

    def actor(self) -> Actor:
        """The installation itself, by the hand of whoever is signed in at the machine."""
        return replace(service_actor(self.cluster), name=self.login, address=CONSOLE)

    def show(self) -> list[Repair]:
        title(f"Groundcrew {VERSION} · {name_of_master(self.cluster)}")
        for each in (
            *lines_of(self.stand, self.cluster.settings),
            *limits_of(self.stand, self.cluster.settings),
        ):
            line(each)
        shown = self.show_catalogue()
        line()
        say("  l  look again      r  last runs      f  forgotten password      q  leave")
        return shown

    def show_catalogue(self) -> list[Repair]:
        """In the order of their numbers."""
        catalogue = read_files(self.cluster)
        entries, last = catalogue.entries, {}
        for broken in catalogue.broken.values():
            complain_of(self.cluster, broken)
        if not self.stand.database:
            known = list_repairs(self.cluster, self.actor())
            last = {each.repair.name: last_time(self.cluster, each) for each in known}
        shown: list[Repair] = []
        for group, word in group_words().items():
            repairs = [entry.repair for entry in entries.values() if entry.repair.group is group]
            if repairs:
                line()
                line(word)
            for repair in repairs:
                shown.append(repair)
                remark = f"  ({last[repair.name]})" if repair.name in last else ""
                line(f"  {len(shown):>2}  {in_words(repair.title)}{remark}")
        if not shown:
            say("This installation offers no repairs.")
        return shown

    def do(self, typed: str, shown: list[Repair]) -> None:
        if number := read_number(typed, len(shown)):
            self.offer(shown[number - 1])
        elif typed == "r" and not self.stand.database:
            self.show_runs()
        elif typed == "f" and not self.stand.database:
            help_in(self.cluster, self.actor())
        elif typed in ("r", "f"):
            say("That needs the database, which does not answer.")
        elif typed not in ("l", ""):
            say("There is no {typed} in this menu.", typed=typed[:20])

    def show_runs(self) -> None:
        entries = read_catalogue(self.cluster)
        for run in list_runs(self.cluster, self.actor(), limit=RUNS_SHOWN):
            what = in_words(entries[run.name].repair.title) if run.name in entries else run.name
            word = verdict_word(run.verdict) if run.verdict else text("at work")
            at = run.asked_at.astimezone(self.cluster.settings.zone)
            line(f"  {run.id:>4}  {at:%Y-%m-%d %H:%M}  {word}  {what}  {run.who}: {run.reason}")

    def offer(self, repair: Repair) -> None:
        if self.stand.database:
            self.offer_alone(repair)
        else:
            self.offer_asked(repair)

    def offer_alone(self, repair: Repair) -> None:
        host = name_of_master(self.cluster)
        if repair.lists or repair.needs_drained:
            say("That needs the database, which does not answer.")
            return
        show_without_database(repair, host)
        confirmed = self.confirm(repair, host)
        if confirmed is None:
            return
        entry = find_entry(self.cluster, repair.name)
        Alone(self.cluster, new_run(self.cluster, entry, confirmed[0], self.login)).begin()

    def offer_asked(self, repair: Repair) -> None:
        """What has changed since the forecast runs nothing; the new one is shown."""
        nodes = self.choose_nodes(repair)
        if nodes is None:
            return
        while True:
            seen = forecast(self.cluster, self.actor(), repair.name, nodes)
            show_forecast(self.cluster, seen)
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
                    self.cluster, self.actor(), repair.name, seen.etag, reason, typed, self.login, nodes
                )
            except Conflict as changed:
                complain_of(self.cluster, changed)
                continue
            self.follow(run.id)
            return

    def choose_nodes(self, repair: Repair) -> list[int] | None:
        """Ids, none where there is nothing to choose; None where the person leaves it."""
        seen = forecast(self.cluster, self.actor(), repair.name)
        if seen.targets:
            return []
        for number, choice in enumerate(seen.choices, 1):
            line(f"  {number:>2}  {choice.host}")
        typed = answer(text("On which nodes? Numbers with spaces between them, or nothing:")) or ""
        chosen = [read_number(word, len(seen.choices)) for word in typed.split()]
        if None in chosen:
            say("There is no {typed} in this menu.", typed=typed[:20])
        known = [seen.choices[number - 1].node_id for number in chosen if number]
        return None if None in chosen or not chosen else [node_id for node_id in known if node_id]

    def offer_to_follow(self, run: RepairRun) -> bool:
        """True where it was given up and has been closed: its targets are free for a new one."""
        try:
            refuse_second(run)
        except Conflict as conflict:
            complain_of(self.cluster, conflict)
        operation = run.operation
        if operation is not None and operation.state is OperationState.INTERRUPTED:
            # Its target is held until somebody closes it: nothing else begins there.
            if (
                answer(text("It was given up half-way. Close it and see a new forecast? y or nothing:"))
                != "y"
            ):
                return False
            cancel_repair(self.cluster, self.actor(), run.id)
            return True
        if answer(text("Follow it? y or nothing:")) == "y":
            self.follow(run.id)
        return False

    def confirm(self, repair: Repair, host: str) -> tuple[str, str] | None:
        """Reason and typed name; None where the person leaves it."""
        reason = answer(text("Why? The access log keeps it. Nothing leaves it:"))
        if not reason:
            return None
        typed = ""
        if repair.needs_typed_name:
            typed = answer(text("Type the name {name}:", name=host)) or ""
            check_typed(repair, typed, host)
        return reason, typed

    def follow(self, run_id: int) -> None:
        run = read_run(self.cluster, self.actor(), run_id)
        is_alone = nobody_hears(self.stand, self.cluster.settings)
        Following(self.cluster, self.actor(), run, is_alone).follow()


def problem_of(error: SQLAlchemyError) -> str:
    return first_line(error.__cause__ or error)
