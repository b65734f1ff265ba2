"""Requests per second of eight clients to Flask alone that writes one durable row for each (one_row_app.py)."""

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import make_url

from tests.bench.bench_installation import House
from tests.bench.bench_run import Ground
from tests.bench.floors.one_row_app import DATABASE, make_table
from tests.bench.portal_load.bare_flask import bare_flask
from tests.bench.rest_clients import Client, closed_loop

APP = "tests.bench.floors.one_row_app:app"
CASE = "Flask alone behind nginx and gunicorn, one durable row a request"
BODY = {"training_id": 1, "units": 1, "name": "more", "command": ["sh", "stamp.sh"]}


def run(ground: Ground, measure: str, clients: int) -> None:
    for name, house in ground.houses.items():
        database = database_beside(house, ground.folder)
        make_table(database)
        with bare_flask(house.cluster.settings, APP, {DATABASE: database}) as port:
            for _ in range(ground.repeats):
                loop = closed_loop(clients, ground.few(1, 3), lambda _number: asking(port))
                ground.ledger.value(f"{measure}, the floor", CASE, name, "/s", loop.rate)


def asking(port: int) -> Callable[[], object]:
    client = Client(port, "none")
    return lambda: client.ask("POST", "/", BODY, 201)


def database_beside(house: House, folder: Path) -> str:
    """A file of its own, or the house's own server."""
    if house.server is None:
        return str(folder / "floor.db")
    url = make_url(house.cluster.store.address)
    owner = house.server.url(url.database or "", house.server.user)
    return make_url(owner).set(drivername="postgresql").render_as_string(hide_password=False)
