"""An application with an installation behind it whose database nobody opens."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask import Flask

from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.store.engine import Store
from portal.shared_objects import share_object
from tests.conftest import settings_for

NOW = datetime(2026, 11, 20, 5, 6, tzinfo=UTC)


@pytest.fixture
def bare_app(tmp_path: Path) -> Flask:
    settings = settings_for("sqlite://", tmp_path)
    app = Flask("portal")
    share_object(app, Cluster, Cluster(Store(settings.database_url), NullEventBus(), settings, lambda: NOW))
    return app


@pytest.fixture
def in_request(bare_app: Flask) -> Iterator[Flask]:
    """Inside a request in English."""
    with bare_app.test_request_context("/"):
        yield bare_app
