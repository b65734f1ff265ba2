"""Flask alone, each request of which writes one durable row: the most that P1 could reach behind this frame.

The row is as long as a job's. SQLite's writers take turns by locks, as the product's do, so that nobody sleeps in vain.
"""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from flask import Flask, request

DATABASE = "FLOOR_DATABASE"
"""The variable with a path of a SQLite file, or with a connection string of PostgreSQL."""
MAKE = "CREATE TABLE IF NOT EXISTS floor_rows (id {id} PRIMARY KEY, content TEXT)"
ADD = "INSERT INTO floor_rows (content) VALUES ({})"
CONTENT = "x" * 600
app = Flask(__name__)
kept = threading.local()
turn = threading.Lock()


def is_sqlite() -> bool:
    return os.environ[DATABASE].startswith("/")


def make_table(database: str) -> None:
    if database.startswith("/"):
        with sqlite3.connect(database) as file:
            file.execute("PRAGMA journal_mode=WAL")
            file.execute(MAKE.format(id="INTEGER"))
        return
    with psycopg.connect(database, autocommit=True) as server:
        server.execute(MAKE.format(id="SERIAL"))


@app.post("/")
def add_row() -> tuple[dict[str, object], int]:
    body = request.get_json()
    if not is_sqlite():
        if not hasattr(kept, "server"):
            kept.server = psycopg.connect(os.environ[DATABASE], autocommit=True)
        kept.server.execute(ADD.format("%s"), (CONTENT,))
        return {"name": body["name"]}, 201
    if not hasattr(kept, "file"):
        kept.file = sqlite3.connect(os.environ[DATABASE], timeout=10, isolation_level=None)
        kept.file.execute("PRAGMA synchronous=FULL")
    with turn_of_process():
        kept.file.execute(ADD.format("?"), (CONTENT,))
    return {"name": body["name"]}, 201


@contextmanager
def turn_of_process() -> Iterator[None]:
    """One writer at a time, among the threads and the processes."""
    with turn:
        folder = os.open(Path(os.environ[DATABASE]).parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)
