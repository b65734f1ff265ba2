"""HTTP is spoken by httpx: the standard library's clients are for what runs where no package of ours is installed.

`urllib.parse` is no client. The Kubernetes client brings urllib3 and raises its errors
(docs/decisions/2026-11-21-kubernetes-through-one-door.md).
"""

import ast
from collections.abc import Iterable, Iterator

import pytest

from tests.structure.source import read_source

WITHOUT_PACKAGES = ("portal/cli/", "worker/bootstrap/", "worker/bundle/check.py", "worker/inside/")
CLIENTS = ("http.client", "urllib.request", "urllib.error", "urllib3", "requests", "aiohttp")
ALLOWED = {
    "worker/adapters/docker_engine.py": {"requests"},  # Docker's client is on it and raises its errors.
    "worker/adapters/jupyter_status.py": {
        "http.client"
    },  # The scheduler asks, which loads no httpx at its start.
    "worker/embedded/supervisor_client.py": {
        "http.client"
    },  # supervisor's own transport is on it and raises its errors.
    "worker/kubernetes/api_client.py": {"urllib3"},
}


def clients(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield from (client for client in CLIENTS if f"{name}.".startswith(f"{client}."))


def imported() -> dict[str, set[str]]:
    found = {module.path: set(clients(module.nodes)) for module in read_source().modules}
    return {path: names for path, names in found.items() if names and not path.startswith(WITHOUT_PACKAGES)}


def test_http_is_spoken_by_httpx() -> None:
    assert imported() == ALLOWED


@pytest.mark.parametrize(
    ("line", "client"),
    [
        ("import urllib.request", "urllib.request"),
        ("from urllib import request", "urllib.request"),
        ("from http.client import HTTPException", "http.client"),
        ("import urllib3", "urllib3"),
        ("from urllib3 import Retry", "urllib3"),
        ("import requests.adapters", "requests"),
    ],
)
def test_the_reader_sees_a_client(line: str, client: str) -> None:
    assert list(clients(ast.walk(ast.parse(line)))) == [client]


@pytest.mark.parametrize("line", ["from urllib.parse import urlsplit", "import httpx", "import http.server"])
def test_the_reader_leaves_other_modules_alone(line: str) -> None:
    assert list(clients(ast.walk(ast.parse(line)))) == []
