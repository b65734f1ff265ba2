"""One house for the session, put back before every test; and empty installations."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from flask.testing import FlaskClient

from cluster.services.context import Cluster
from cluster.services.people import credentials
from portal import create_app
from tests.conftest import sqlite_cluster
from tests.pages.portal.filled_portal import House, build


@pytest.fixture(autouse=True)
def quick(quick_hashes: None) -> None:
    """Pages hash many passwords."""


@pytest.fixture(scope="session")
def one_house(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    with sqlite_cluster(folder, migrated_file) as cluster:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(credentials, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
            house = build(cluster, folder / "groundcrew.db")
        yield house


@pytest.fixture
def house(one_house: House) -> House:
    one_house.restore()
    return one_house


@pytest.fixture
def client(light_cluster: Cluster) -> FlaskClient:
    """A browser at the portal of an empty installation, with its CSRF check on."""
    return create_app(light_cluster).test_client()
