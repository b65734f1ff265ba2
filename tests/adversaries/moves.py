"""A move, and the facts of the installation that an adversary has. Standard library alone: moves run on hosts too."""

import json
import os
import select
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

LARGE = "large.bin"
"""A file of the code that is copied for a while; root has one of that name too."""
OF_PLAY = ("is_over", "rounds", "began")
"""What a ground keeps while a move is played."""
WITHOUT_CONSTRAINTS = """do $$ declare each record; begin
  for each in select conrelid::regclass as place, conname from pg_constraint
    where contype in ('c', 'f') and connamespace = 'public'::regnamespace
  loop execute format('alter table %s drop constraint %I', each.place, each.conname); end loop;
end $$"""
"""For the owner of PostgreSQL's tables, who is none of the services: moves then try what the product itself checks."""
LONGEST = 20.0
"""Seconds after which a race ends, whatever the other side does."""


@dataclass
class Ground:
    """Where the adversary stands. Paths are absolute; `job` waits, and its first attempt begins after the move."""

    state: str
    storage: str
    workspace: int
    job: int
    attempt: int
    """Number of the attempt that is to begin next, of `job`."""
    code: str
    """The folder of its code version."""
    running: str
    """Folder of an attempt of the same user that runs now; its program sleeps."""
    resumed: int
    """Job of that attempt: its shim dies during the pass, and its next attempt goes on from a checkpoint."""
    shim: int
    """Process of that attempt's shim."""
    foreign: str
    """Folder of an attempt of another user in another workspace, which runs."""
    cache: str
    """What the services build for jobs."""
    images: str
    """Where root builds images."""
    roots: tuple[str, ...]
    """Folders of root's programs and settings, and of what installs them."""
    sockets: tuple[str, ...]
    """Behind which there is power, and which are for others."""
    elsewhere: int
    """Workspace of the other person."""
    outside: str
    """A folder that stands for the machine's own: root's and other people's files."""
    processes: tuple[int, ...]
    """Processes of root and of another person."""
    witness: str
    """Anybody may make files here: a program that runs leaves its user as the file's owner."""
    program: str
    """Path of a program that does so."""
    database: str
    """A file of SQLite, or the address of a PostgreSQL database that psql takes."""
    redis: str
    """The socket, or an address with the name and the password that a service has."""
    uid_base: int
    gid_base: int
    uid: int
    """The adversary's own number."""
    is_over: bool = False
    rounds: int = 0
    began: float = field(default_factory=time.monotonic)

    def to_json(self) -> str:
        return json.dumps({key: value for key, value in asdict(self).items() if key not in OF_PLAY})

    @property
    def next(self) -> Path:
        """Folder of the attempt that is to begin."""
        return Path(self.storage, "workspaces", str(self.workspace), "jobs", str(self.job), str(self.attempt))

    @property
    def own(self) -> Path:
        """What the running program may write."""
        return Path(self.running, "out")

    @property
    def home(self) -> Path:
        """The workspace's folder."""
        return Path(self.storage, "workspaces", str(self.workspace))

    @property
    def secret(self) -> Path:
        """A file of root's that nobody else may read."""
        return Path(self.outside, "etc", "shadow")

    @property
    def target(self) -> Path:
        """A folder of root's that nobody else may enter."""
        return Path(self.outside, "root-only")

    def ready(self) -> None:
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    def goes_on(self) -> bool:
        """Whether a race is still worth its next round; looked at now and then, for a round is short."""
        self.rounds += 1
        if self.rounds % 64 == 0:
            self.is_over = time.monotonic() - self.began > LONGEST or bool(select.select([0], [], [], 0)[0])
        return not self.is_over

    def wait(self) -> None:
        """Keeps what this process holds until the pass is over."""
        self.ready()
        select.select([0], [], [], LONGEST)

    def sql(self, *statements: str) -> None:
        """As the services, which may write rows. No constraint of the application stands in the way: those of SQLite
        are switched off here, those of PostgreSQL are gone (WITHOUT_CONSTRAINTS)."""
        if Path(self.database).is_absolute():
            with sqlite3.connect(self.database, timeout=10.0, isolation_level=None) as connection:
                connection.execute("pragma foreign_keys = off")
                connection.execute("pragma ignore_check_constraints = on")
                for statement in statements:
                    connection.execute(statement)
            connection.close()
            return
        words = ["psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", self.database]
        said = ";\n".join((*statements, ""))
        subprocess.run(words, input=said, text=True, check=True, stdout=sys.stderr)

    def ask(self, statement: str) -> list[str]:
        """The first column of each row."""
        if Path(self.database).is_absolute():
            with sqlite3.connect(self.database, timeout=10.0) as connection:
                rows = [str(row[0]) for row in connection.execute(statement)]
            connection.close()
            return rows
        words = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--command", statement, self.database]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()

    def columns_of(self, table: str) -> list[str]:
        if Path(self.database).is_absolute():
            return self.ask(f"select name from pragma_table_info('{table}')")
        return self.ask(f"select column_name from information_schema.columns where table_name = '{table}'")

    def copy_row(self, table: str, row: int | str, **changed: object) -> None:
        """A second row like that one, with other values for some of its columns: SQL as it stands."""
        columns = self.columns_of(table)
        values = [str(changed.get(name, name)) for name in columns]
        self.sql(
            f"insert into {table} ({', '.join(columns)}) select {', '.join(values)} from {table} where id = {row}"
        )


Act = Callable[[Ground], None]


@dataclass(frozen=True)
class Move:
    """One thing that an adversary does, and what has to be there for it."""

    name: str
    words: str
    act: Act
    resumes: bool = False
    """Whether the running attempt loses its shim during the pass, so that its job goes on as another attempt."""
    ends: bool = False
    """Whether the running job is stopped by a person during the pass."""
    races: bool = False
    """Whether it races against the copy of the code, which takes a while then."""
    builds: bool = False
    """Whether root builds the default image during the pass."""
    is_long: bool = False
    """Whether it takes long and adds little to the others."""
    only: str = ""
    """`server`, where only services without root make it a move."""

    def __str__(self) -> str:
        return self.name


class Moves(dict[str, Move]):
    """Those of one adversary, by name."""

    def move(self, **facts: object) -> Callable[[Act], Act]:
        """Takes a function in, whose name and docstring are the move's."""

        def take_in(act: Act) -> Act:
            assert act.__doc__ and act.__name__ not in self, act
            self[act.__name__] = Move(act.__name__, act.__doc__, act, **facts)  # type: ignore[arg-type]
            return act

        return take_in


class Refused(Exception):
    """The system has refused what the move is made of: it could not even be tried."""


def must_not(act: Callable[..., object], *words: object, **named: object) -> None:
    """For what the system itself has to refuse. Raises AssertionError where it does not."""
    try:
        act(*words, **named)
    except OSError:
        return
    raise AssertionError(f"{getattr(act, '__name__', act)}{words} was not refused")


def link(path: Path, target: Path | str) -> None:
    """A link there, whatever stood there before, as far as its folder is ours."""
    remove(path)
    path.symlink_to(target)


def once(ground: Ground, swap: Callable[[], None], pause: float = 0.0) -> None:
    """Tries again and again until it has been done once: who goes on would undo it.

    Who pauses between two tries (seconds) is let in at once afterwards, also on a busy machine.
    """
    ground.ready()
    while ground.goes_on():
        try:
            swap()
        except OSError:
            if pause:
                time.sleep(pause)
            continue
        ground.wait()
        return


def remove(path: Path) -> None:
    """Sets aside what cannot be removed."""
    if not os.path.lexists(path):
        return
    try:
        path.unlink()
    except OSError:
        path.rename(path.with_name(f".aside-{os.urandom(4).hex()}"))
