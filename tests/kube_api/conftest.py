"""One API server for all tests of this folder; each has a namespace of its own."""

import itertools
from collections.abc import Iterator

import pytest

from tests.api_server import ApiServer, api_server
from tests.shelf import NOT_BUILT, NotCompiled

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    try:
        with api_server(tmp_path_factory.mktemp("kubernetes")) as server:
            yield server
    except NotCompiled:
        pytest.skip(f"Kubernetes not asked: {NOT_BUILT}")


@pytest.fixture
def namespace(server: ApiServer) -> str:
    name = f"gc-test-{next(NUMBERS)}"
    server.add_namespace(name)
    return name
