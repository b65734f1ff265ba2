"""Writers of SQLite that wait for each other share one commit, and stand or fall each by itself."""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.orm import Session

from cluster.store.engine import Store
from cluster.store.leases import Lease
from cluster.store.sql.sqlite_writers import SqliteWriters
from cluster.store.users import OneTimeSecret
from tests.conftest import Clock

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
Write = Callable[[Session], object]


def line_of(store: Store) -> SqliteWriters:
    assert store._writers is not None
    return store._writers


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline, "it never came so"
        time.sleep(0.001)


class Writer(threading.Thread):
    """Writes in a thread of its own; `error` is what it got instead of an answer."""

    def __init__(self, store: Store, write: Write, is_long: bool = False) -> None:
        super().__init__()
        self.store, self.write, self.is_long = store, write, is_long
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with self.store.write(is_long=self.is_long) as session:
                session.connection()
                self.write(session)
        except DBAPIError as error:
            self.error = error


@contextmanager
def waiting_behind(store: Store, first: Write, *others: Writer) -> Iterator[None]:
    """`first` writes while all others stand in the line, in this order; at the end everybody is answered."""
    try:
        with store.write() as session:
            session.connection()
            first(session)
            for number, other in enumerate(others, 1):
                other.start()
                until(lambda: len(line_of(store)._line) == number)  # noqa: B023
            yield
    finally:
        for other in others:
            other.join(10)


@pytest.fixture
def commits(store: Store) -> list[int]:
    found: list[int] = []
    event.listen(store.engine, "commit", lambda connection: found.append(1))
    return found


def leases(store: Store) -> set[str]:
    with store.read_columns() as connection:
        return set(connection.scalars(text("SELECT name FROM leases")))


def a_lease(clock: Clock, name: str) -> Write:
    return lambda session: session.add(Lease(name=name, holder="one", expires_at=clock()))


def an_orphan(clock: Clock) -> OneTimeSecret:
    return OneTimeSecret(
        kind="password", user_id=4711, secret_hash="x", created_at=clock(), expires_at=clock()
    )


@pytest.fixture(autouse=True)
def no_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr("cluster.store.sql.sqlite_writers.GROUP_SECONDS", 60.0)


def test_writers_that_wait_share_one_commit(store: Store, clock: Clock, commits: list[int]) -> None:
    others = [Writer(store, a_lease(clock, name)) for name in ("b", "c", "d")]
    with waiting_behind(store, a_lease(clock, "a"), *others):
        assert leases(store) == set()
    assert [other.error for other in others] == [None] * 3
    assert (leases(store), len(commits)) == ({"a", "b", "c", "d"}, 1)


def test_one_that_fails_undoes_only_its_own(store: Store, clock: Clock, commits: list[int]) -> None:
    def fails(session: Session) -> None:
        a_lease(clock, "lost")(session)
        session.flush()
        session.add(an_orphan(clock))

    others = [Writer(store, a_lease(clock, "b")), Writer(store, fails), Writer(store, a_lease(clock, "c"))]
    with waiting_behind(store, a_lease(clock, "a"), *others):
        pass
    assert others[0].error is others[2].error is None
    assert isinstance(others[1].error, IntegrityError)
    assert (leases(store), len(commits)) == ({"a", "b", "c"}, 1)


def test_who_collides_with_another_of_the_group_finds_its_row_afterwards(store: Store, clock: Clock) -> None:
    """A third writer holds the commit back: whoever were answered before it would find nothing."""
    answered = threading.Event()

    class Collides(Writer):
        found: set[str] | None = None

        def run(self) -> None:
            super().run()
            self.found = leases(store)
            answered.set()

    def holds_back(session: Session) -> None:
        a_lease(clock, "c")(session)
        answered.wait(0.3)

    collides, third = Collides(store, a_lease(clock, "a")), Writer(store, holds_back)
    with waiting_behind(store, a_lease(clock, "a"), collides, third):
        pass
    assert isinstance(collides.error, IntegrityError) and third.error is None
    assert collides.found == {"a", "c"}


def test_the_others_go_on_after_a_first_one_that_fails(store: Store, clock: Clock) -> None:
    other = Writer(store, a_lease(clock, "b"))
    with pytest.raises(ValueError, match="half way"), waiting_behind(store, a_lease(clock, "a"), other):
        raise ValueError("half way")
    assert (leases(store), other.error) == ({"b"}, None)


def test_nobody_is_answered_if_the_commit_fails(store: Store, clock: Clock) -> None:
    """SQLite checks a deferred key only when it commits."""

    def breaks_the_commit(session: Session) -> None:
        session.execute(text("PRAGMA defer_foreign_keys=ON"))
        session.add(an_orphan(clock))

    others = [Writer(store, breaks_the_commit), Writer(store, a_lease(clock, "c"))]
    with pytest.raises(IntegrityError), waiting_behind(store, a_lease(clock, "a"), *others):
        pass
    assert [type(other.error) for other in others] == [IntegrityError] * 2
    assert leases(store) == set()
    with store.write() as session:
        a_lease(clock, "later")(session)
    assert leases(store) == {"later"}


def test_nobody_is_answered_if_sqlite_has_undone_all_by_itself(store: Store, clock: Clock) -> None:
    """As it does when the disk is full."""

    def loses_the_transaction(session: Session) -> None:
        session.connection().exec_driver_sql("ROLLBACK")
        raise OperationalError("INSERT", None, OSError("disk full"))

    others = [Writer(store, a_lease(clock, "b")), Writer(store, loses_the_transaction)]
    with (
        pytest.raises(OperationalError, match="disk full"),
        waiting_behind(store, a_lease(clock, "a"), *others),
    ):
        pass
    assert [str(other.error).count("disk full") for other in others] == [1, 1]
    assert leases(store) == set()


def test_nobody_shares_the_commit_of_a_long_transaction(
    store: Store, clock: Clock, commits: list[int]
) -> None:
    others = [Writer(store, a_lease(clock, "long"), is_long=True), Writer(store, a_lease(clock, "c"))]
    with waiting_behind(store, a_lease(clock, "a"), *others):
        pass
    assert (leases(store), len(commits)) == ({"a", "long", "c"}, 3)


def test_a_transaction_that_is_old_is_handed_on_no_more(
    store: Store, clock: Clock, commits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cluster.store.sql.sqlite_writers.GROUP_SECONDS", 0.0)
    with waiting_behind(store, a_lease(clock, "a"), Writer(store, a_lease(clock, "b"))):
        pass
    assert len(commits) == 2


def test_a_writer_waits_in_the_line_only_as_long_as_its_patience(store: Store) -> None:
    with closing(Store(store.address, patience=0)) as impatient, impatient.write() as session:
        session.connection()
        late = Writer(impatient, lambda session: None)
        late.start()
        late.join(10)
    assert isinstance(late.error, OperationalError) and "locked" in str(late.error)


def test_another_process_has_its_turn_before_the_next_transaction(store: Store, clock: Clock) -> None:
    """Another store of the same process stands for it: it has a line of its own too."""
    order: list[str] = []
    with closing(Store(store.address)) as elsewhere:
        other = Writer(elsewhere, lambda session: order.append("other process"))
        own = Writer(store, lambda session: order.append("own"), is_long=True)
        with waiting_behind(store, a_lease(clock, "a"), own):
            other.start()
            until(lambda: is_locked(line_of(store).process_turns.folder))
        other.join(10)
    assert (other.error, own.error) == (None, None)
    assert order == ["other process", "own"]


def is_locked(folder: os.PathLike[str]) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def test_a_verb_that_asks_nothing_keeps_nobody_waiting(store: Store, clock: Clock) -> None:
    with store.write(), store.write() as session:
        a_lease(clock, "a")(session)
    assert leases(store) == {"a"}


@pytest.mark.parametrize("position", [0, 1])
def test_what_a_verb_makes_of_an_error_of_the_database_is_what_its_caller_gets(
    store: Store, clock: Clock, position: int
) -> None:
    """Also behind another writer, whose changes stay."""
    refusal = DBAPIError("refused", None, ValueError())

    def refuses(session: Session) -> None:
        try:
            session.add(an_orphan(clock))
            session.flush()
        except IntegrityError:
            raise refusal  # noqa: B904

    writer = Writer(store, refuses)
    if position:
        with waiting_behind(store, a_lease(clock, "a"), writer):
            pass
    else:
        writer.run()
    assert writer.error is refusal
    assert leases(store) == ({"a"} if position else set())
