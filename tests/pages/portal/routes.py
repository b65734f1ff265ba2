"""Every route of the portal, known when tests are collected; building the portal reads no row."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.store.engine import Store
from portal import create_app
from tests.conftest import settings_for
from tests.pages.portal.filled_portal import WHEEL, House


@dataclass(frozen=True)
class Route:
    """`path` with its arguments as the rule names them."""

    endpoint: str
    method: str
    path: str
    arguments: frozenset[str]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_api(self) -> bool:
        return self.path.startswith("/api/")


def read_routes() -> list[Route]:
    url = "sqlite:////nowhere/groundcrew.db"
    app = create_app(Cluster(Store(url), NullEventBus(), settings_for(url, Path("/nowhere"))), testing=True)
    return sorted(
        (
            Route(rule.endpoint, method, rule.rule, frozenset(rule.arguments))
            for rule in app.url_map.iter_rules()
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        ),
        key=str,
    )


ROUTES = read_routes()
OTHERS = {
    "filename": "app.css",
    "name": "epoch-0001.weights.h5",
    "attempt": 1,
    "repair": "back-up-now",
    "day": "20261119",
    "version": 1,
    "howto": "jobs",
    "number": 1,
}
"""Arguments that are no ids of rows."""
QUERIES = {
    "job_files.download": "?path=rank-0.stdout",
    "api_jobs.FileContent": "?path=rank-0.stdout",
    "dataset_files.download": "?path=zero/0001.png",
    "api_datasets.DatasetFileContent": "?path=zero/0001.png",
    "training_code.download": "?path=train.py",
    "code_editor.edit": "?path=train.py",
    "api_trainings.CodeContent": "?path=train.py",
    "api_trainings.CodeComparison": "?before=1&after=1",
}
"""What has to be asked for besides the path, by endpoint."""


BODIES: dict[str, Callable[[], dict[str, Any]]] = {
    "api_workspaces.StorageLimit": lambda: {"json": {"limit_bytes": 2**40}},
    "api_workspaces.DatasetUploadCheck": lambda: {"json": {"archive_name": "digits.zip", "size": 1}},
    "api_workspaces.DatasetUploads": lambda: {
        "data": {"name": "digits", "archive": (BytesIO(b"PK"), "digits.zip")}
    },
    "api_trainings.CodeArchiveCheck": lambda: {"json": {"archive_name": "code.zip", "size": 1}},
    "api_trainings.WorkingCopyEnvironment": lambda: {"json": {"name": "kept"}},
    "wheels.delete": lambda: {"data": {"file": WHEEL}},
    "api_trainings.CodeArchives": lambda: {"data": {"archive": (BytesIO(b"PK"), "code.zip")}},
}
"""What a request brings where one without it is refused before its rights are looked at, by endpoint."""


def body_of(route: Route) -> dict[str, Any]:
    return BODIES[route.endpoint]() if route.endpoint in BODIES else {}


def address(house: House, route: Route, **other: object) -> str:
    """The route's address for the house's own things; `other` replaces arguments."""
    values = {name: house.ids.get(name, OTHERS.get(name)) for name in route.arguments}
    if "token" in route.arguments:
        values["token"] = house.link
    values |= {name: value for name, value in other.items() if name in route.arguments}
    missing = [name for name, value in values.items() if value is None]
    assert not missing, f"say in tests/pages/portal/filled_portal.py what {missing} of {route} are"
    path = route.path
    for name, value in values.items():
        for shape in (f"<{name}>", f"<int:{name}>", f"<path:{name}>"):
            path = path.replace(shape, str(value))
    return path + QUERIES.get(route.endpoint, "")
