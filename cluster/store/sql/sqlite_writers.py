"""SQLite has one writer at a time: here writers take turns, and those that wait for each other share one commit.

A writer that is done while another waits hands its open transaction on, and both are answered after the one commit.
Each has a savepoint of its own: a writer that fails undoes its own changes only. If the commit fails, all of them get
that error, and no change of the group is kept.

Between processes a lock on the database's folder gives turns: SQLite's own waiting sleeps longer and longer, and a
process that writes all the time would keep others from beginning.
"""

import fcntl
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

GROUP_SECONDS = 0.02
"""The age from which a transaction is no longer handed on, because writers of other processes wait for it."""
POLL_SECONDS = 0.001


@dataclass
class WriteGroup:
    """One open transaction and the writers that share it."""

    connection: Connection
    began: float
    answered: threading.Event = field(default_factory=threading.Event)
    """Set once it is committed, or has failed."""
    has_changes: bool = False
    """A writer has written something that waits for the commit."""
    error: BaseException | None = None

    @property
    def is_whole(self) -> bool:
        """False if SQLite has undone all of it by itself, as it does when the disk is full."""
        driver = self.connection.connection.driver_connection
        return isinstance(driver, sqlite3.Connection) and driver.in_transaction


@dataclass
class Turn:
    """A writer's place in the line."""

    is_alone: bool
    has_come: threading.Event = field(default_factory=threading.Event)
    group: WriteGroup | None = None
    """The transaction that it joins; None: it begins one."""
    is_first: bool = True


class WriterSession(Session):
    """A session that joins the line of writers at its first statement."""

    def __init__(self, join: Callable[[], Turn], **options: Any) -> None:
        super().__init__(**options)
        self.join = join

    def get_bind(self, *arguments: Any, **named: Any) -> Connection:
        turn = self.join()
        assert turn.group is not None
        # The first writer alone needs no savepoint.
        self.join_transaction_mode = "rollback_only" if turn.is_first else "create_savepoint"
        return turn.group.connection


class SqliteWriters:
    """The line of one process' writers. `patience` is in seconds."""

    def __init__(self, engine: Engine, folder: Path, patience: float) -> None:
        self.engine = engine
        self.patience = patience
        self.process_turns = ProcessTurns(folder)
        self._mutex = threading.Lock()
        self._line: deque[Turn] = deque()
        self._is_busy = False

    @contextmanager
    def share(self, is_alone: bool = False) -> Iterator[WriterSession]:
        """Ends once the changes are durable. `is_alone`: the transaction is long, so no other writer shares its commit.
        Raises OperationalError if the other writers do not end in time, and what the commit raises.
        """
        turn = Turn(is_alone)
        try:
            with WriterSession(partial(self._join, turn), expire_on_commit=False) as session, session.begin():
                yield session
        except BaseException as error:
            if turn.group is None:
                raise
            cause = first_cause(error)
            self._leave_undone(turn, turn.group, cause)
            if cause is error:
                raise
            raise cause from None
        if turn.group is not None:
            turn.group.has_changes = True
            self._leave(turn, turn.group)

    def _join(self, turn: Turn) -> Turn:
        """Begins or joins the transaction at the first call, and waits for it."""
        if turn.group is None:
            self._wait_for_turn(turn)
        if turn.group is None:
            try:
                turn.group = self._begin()
            except BaseException:
                self._give_turn_on()
                raise
        return turn

    def _wait_for_turn(self, turn: Turn) -> None:
        with self._mutex:
            if not self._is_busy:
                self._is_busy = True
                return
            self._line.append(turn)
        if not turn.has_come.wait(self.patience):
            with self._mutex:
                if turn in self._line:
                    self._line.remove(turn)
                    raise locked()

    def _begin(self) -> WriteGroup:
        with self.process_turns.wait(time.monotonic() + self.patience):
            connection = self.engine.connect()
            try:
                connection.begin()
            except BaseException:
                connection.close()
                raise
        return WriteGroup(connection, time.monotonic())

    def _leave(self, turn: Turn, group: WriteGroup) -> None:
        if not self._hand_over(turn, group):
            self._end(group)
        group.answered.wait()
        if group.error is not None:
            raise copy_of(group.error) from group.error

    def _leave_undone(self, turn: Turn, group: WriteGroup, error: BaseException) -> None:
        """Leaves this writer's rows out. The rows of the others in the group are committed if SQLite still has them.

        It waits for that commit, because the error may be about rows of the others, which the caller looks for next.
        """
        if turn.is_first or not group.is_whole:
            self._end(group, error)
            return
        if not self._hand_over(turn, group):
            self._end(group)
        group.answered.wait()
        if group.error is not None:
            raise copy_of(group.error) from error

    def _hand_over(self, turn: Turn, group: WriteGroup) -> bool:
        with self._mutex:
            is_old = time.monotonic() - group.began > GROUP_SECONDS
            if turn.is_alone or is_old or not self._line or self._line[0].is_alone:
                return False
            following = self._line.popleft()
            following.group, following.is_first = group, False
            following.has_come.set()
            return True

    def _end(self, group: WriteGroup, error: BaseException | None = None) -> None:
        """Commits. If an `error` has undone the whole group, everybody in it gets that error."""
        try:
            if error is None and group.has_changes:
                group.connection.commit()
            group.error = error
        except BaseException as failure:
            group.error = failure
            if not isinstance(failure, DBAPIError):
                raise
        finally:
            try:
                group.connection.close()
            finally:
                group.answered.set()
                self._give_turn_on()

    def _give_turn_on(self) -> None:
        with self._mutex:
            if self._line:
                self._line.popleft().has_come.set()
            else:
                self._is_busy = False


class ProcessTurns:
    """The turns of the processes: the holder of the folder's lock begins the next transaction and releases the lock at
    once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor = -1
        self._process = 0

    @contextmanager
    def wait(self, deadline: float) -> Iterator[None]:
        """Raises OperationalError. If the folder cannot be opened, SQLite itself raises the better error."""
        try:
            descriptor = self._open()
        except OSError:
            yield
            return
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise locked() from None
                time.sleep(POLL_SECONDS)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _open(self) -> int:
        """A forked process opens the folder itself, because processes that share an opened folder share its lock."""
        if self._process != os.getpid():
            self._descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._process = os.getpid()
        return self._descriptor

    def close(self) -> None:
        if self._process == os.getpid():
            os.close(self._descriptor)
            self._process = 0


def locked() -> OperationalError:
    """The error that SQLite itself would raise after such a long wait."""
    reason = sqlite3.OperationalError("database is locked")
    reason.sqlite_errorcode, reason.sqlite_errorname = sqlite3.SQLITE_BUSY, "SQLITE_BUSY"
    return OperationalError("BEGIN IMMEDIATE", None, reason)


def first_cause(error: BaseException) -> BaseException:
    """If SQLite has undone everything, the savepoint is gone too. The error about the savepoint would hide the first
    one.
    """
    is_about_savepoint = isinstance(error, OperationalError) and "no such savepoint" in str(error.orig)
    return error.__context__ if is_about_savepoint and error.__context__ is not None else error


def copy_of(error: BaseException) -> BaseException:
    """Returns a copy for each thread that raises it, because a traceback belongs to one thread."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        return type(error)(error.statement, error.params, error.orig)
    return OperationalError("COMMIT", None, error)
