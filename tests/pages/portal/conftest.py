"""One house for the session, put back before every test; and empty installations."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.templating import Environment
from flask.testing import FlaskClient
from jinja2 import Undefined, UndefinedError
from jinja2.runtime import TemplateReference
from jinja2.utils import missing

from cluster.services.context import Cluster
from cluster.services.people import credentials
from portal import create_app
from portal.recent_values import RecentValues
from portal.shared_objects import share_object
from tests.conftest import sqlite_cluster
from tests.pages.portal.filled_portal import House, build
from tests.pages.portal.pages_lab import one_portal
from worker.adapters.portal_certificates import ensure_authority

__all__ = ["one_portal"]


class RequiredAttributes(Undefined):
    """An absent key of a mapping is empty as ever; an attribute that an object does not have fails the test."""

    def __init__(
        self, hint: str | None = None, obj: Any = missing, name: str | None = None, exc: Any = None
    ) -> None:
        super().__init__(hint, obj, name, exc or UndefinedError)
        if obj is not missing and not isinstance(obj, Mapping | Undefined | TemplateReference):
            raise UndefinedError(f"{type(obj).__name__} has no attribute {name!r}")


@pytest.fixture(autouse=True, scope="session")
def required_attributes() -> Iterator[None]:
    """Templates of every portal in these tests name only attributes that exist."""
    create = Flask.create_jinja_environment

    def strict(app: Flask) -> Environment:
        environment = create(app)
        environment.undefined = RequiredAttributes
        return environment

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Flask, "create_jinja_environment", strict)
        yield


@pytest.fixture(autouse=True)
def quick(quick_hashes: None) -> None:
    """Pages hash many passwords."""


@pytest.fixture(scope="session")
def one_house(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    ensure_authority(folder, "Groundcrew of a test")
    with sqlite_cluster(folder, migrated_file) as plain:
        settings = replace(plain.settings, authority_file=folder / "authority.pem")
        cluster = replace(plain, settings=settings)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(credentials, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
            house = build(cluster, folder / "groundcrew.db")
        yield house


@pytest.fixture
def house(one_house: House) -> House:
    one_house.restore()
    return one_house


@pytest.fixture(scope="session")
def strict_portal(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[Flask]:
    """With its CSRF check on. Its templates are compiled once; each test puts its own cluster behind it."""
    with sqlite_cluster(tmp_path_factory.mktemp("strict"), migrated_file) as cluster:
        yield create_app(cluster)


@pytest.fixture
def client(light_cluster: Cluster, strict_portal: Flask) -> FlaskClient:
    """A browser at the portal of an empty installation, which remembers nothing of the test before."""
    share_object(strict_portal, Cluster, light_cluster)
    share_object(strict_portal, RecentValues, RecentValues())
    return strict_portal.test_client()
