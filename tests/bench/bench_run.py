"""One run of the benchmark: our two installations, the baselines, the results and whose turn it is."""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from sqlalchemy import text

from cluster.store.nodes import Node
from tests.bench.baselines import hyperqueue, plain_rq, slurm
from tests.bench.baselines.environment import ensure_rivals
from tests.bench.baselines.hyperqueue import HyperQueue
from tests.bench.baselines.plain_rq import RqAlone
from tests.bench.baselines.slurm import Slurm, SlurmMissing
from tests.bench.bench_installation import House, TooSlow, a_house, wait_until
from tests.bench.programs import write_programs
from tests.bench.results import Ledger, missing
from worker.embedded.supervisor_client import SupervisorClient

OURS = "Groundcrew, PostgreSQL"
BESIDE = "Groundcrew, SQLite"
SLURM = "Slurm, tuned"
SLURM_PLAIN = "Slurm, as it comes"
HQ = "HyperQueue"
RQ = "RQ alone"
DURABLE = {
    OURS: "durable: fsync and synchronous_commit on",
    BESIDE: "durable: synchronous=FULL",
    SLURM: "not durable: state is written some seconds later",
    SLURM_PLAIN: "not durable: state is written some seconds later",
    HQ: "not durable: no journal",
    RQ: "not durable: Redis syncs once a second",
}
SLOTS = 2

Turn = Callable[[], None]


@dataclass
class Ground:
    """`houses` by contender; a rival that could not be had is None and named in the ledger."""

    ledger: Ledger
    folder: Path
    is_quick: bool
    is_talkative: bool = False
    houses: dict[str, House] = field(default_factory=dict)
    slurm: Slurm | None = None
    slurm_plain: Slurm | None = None
    hyperqueue: HyperQueue | None = None
    rq: RqAlone | None = None
    environment: Path = Path()

    @property
    def repeats(self) -> int:
        return 2 if self.is_quick else 5

    def few(self, quick: int, full: int) -> int:
        return quick if self.is_quick else full

    @property
    def depths(self) -> tuple[int, ...]:
        """How many jobs wait elsewhere."""
        return (0, 1_000) if self.is_quick else (0, 10_000, 100_000)

    def alternate(self, turns: dict[str, Turn], repeats: int | None = None) -> None:
        """A B A B: every contender once per repeat, the others at rest meanwhile."""
        for repeat in range(repeats or self.repeats):
            for contender, turn in turns.items():
                if self.is_talkative:
                    print(f"     … {repeat + 1}: {contender}", flush=True)
                if contender in self.houses:
                    with awake(self.houses[contender]):
                        turn()
                else:
                    turn()


@contextmanager
def a_ground(ledger: Ledger, is_quick: bool, databases: tuple[str, ...]) -> Iterator[Ground]:
    """Everything is started once; our houses rest until it is their turn."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gc-bench-")))
        folder.chmod(0o755)
        write_programs(folder)
        ground = Ground(ledger, folder, is_quick)
        for kind in databases:
            house = stack.enter_context(a_house(kind))
            ground.houses[OURS if kind == "postgresql" else BESIDE] = house
            rest(house)
            stack.callback(wake, house)
        start_rivals(ground, stack)
        yield ground


def start_rivals(ground: Ground, stack: ExitStack) -> None:
    tuning = ground.ledger.facts.setdefault("tuning", {})
    versions = ground.ledger.facts.setdefault("versions", {})
    ground.environment = ensure_rivals()
    with missing(ground.ledger, "Slurm", SlurmMissing):
        versions["Slurm"] = slurm.version()
        ground.slurm = stack.enter_context(slurm.slurm(SLOTS, slurm.TUNED))
        ground.slurm_plain = stack.enter_context(slurm.slurm(SLOTS, slurm.AS_IT_COMES))
        tuning[SLURM] = dict(slurm.TUNED)
        tuning[SLURM_PLAIN] = dict(slurm.AS_IT_COMES)
    with missing(ground.ledger, "HyperQueue", OSError, RuntimeError):
        versions["HyperQueue"] = hyperqueue.version(ground.environment)
        ground.hyperqueue = stack.enter_context(
            hyperqueue.hyperqueue(ground.environment, SLOTS, ground.folder)
        )
        tuning[HQ] = {
            "worker": f"{SLOTS} cores, in one process with the server",
            "journal": "none (its default)",
        }
    with missing(ground.ledger, "RQ", OSError, TimeoutError):
        versions["RQ"] = plain_rq.version()
        ground.rq = stack.enter_context(plain_rq.rq_alone(ground.folder, SLOTS))
        tuning[RQ] = {"workers": f"{SLOTS} fork workers", "redis": "appendfsync everysec, unix socket"}


def services_of(house: House) -> list[psutil.Process]:
    try:
        return psutil.Process(SupervisorClient(house.installation.places).read_pid()).children(recursive=True)
    except (psutil.NoSuchProcess, OSError):
        return []


def rest(house: House) -> None:
    """Stopped, so that its loops take nothing from whoever is measured now; never within a transaction."""
    deadline = time.monotonic() + 30
    while True:
        for process in services_of(house):
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        if has_no_transaction(house):
            return
        if time.monotonic() > deadline:
            raise TooSlow("a moment without a transaction")
        wake(house)
        time.sleep(0.02)


def has_no_transaction(house: House) -> bool:
    """Whether nobody holds a lock that we would wait for."""
    if house.server is None:
        return can_write(house)
    others = "state <> 'idle' AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with house.cluster.store.engine.connect() as connection:
        return connection.scalar(text(f"SELECT count(*) FROM pg_stat_activity WHERE {others}")) == 0


def can_write(house: House) -> bool:
    with closing(sqlite3.connect(house.installation.places.database_file, timeout=0.1)) as connection:
        connection.isolation_level = None
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return False
    return True


@contextmanager
def at_rest(house: House) -> Iterator[None]:
    """For changes by hand to the rows of a house whose turn it is."""
    rest(house)
    try:
        yield
    finally:
        wake(house)


def wake(house: House) -> None:
    for process in services_of(house):
        with suppress(psutil.NoSuchProcess):  # A job's beginning, which has left its parent meanwhile.
            process.resume()


@contextmanager
def awake(house: House) -> Iterator[None]:
    """Begins once its node has reported again and its portal answers."""
    woken = house.cluster.clock()
    wake(house)
    wait_until(lambda: has_reported(house, woken), 30, "the node reports again")
    wait_until(lambda: answers(house), 30, "the portal answers")
    time.sleep(0.5)
    try:
        yield
    finally:
        rest(house)


def answers(house: House) -> bool:
    """A portal that has only just been woken may be slow to say so."""
    try:
        return house.installation.health() == "ok"
    except OSError:
        return False


def has_reported(house: House, since: object) -> bool:
    with house.cluster.store.read() as session:
        node = session.query(Node).one()
        return node.heartbeat_at is not None and node.heartbeat_at >= since  # type: ignore[operator]
