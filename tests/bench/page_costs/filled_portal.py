"""A portal in this process over a database that is filled already, and people who have signed in."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog
from flask import Flask
from flask.testing import FlaskClient

from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentState
from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.services.people import api_tokens, sessions
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.environments import Environment
from cluster.store.facts import InstallationFact
from portal import create_app
from portal.shared_objects import share_object
from tests.bench.full_size.database_file import keep_nodes_ready
from tests.bench.full_size.rows import user_name
from tests.bench.full_size.sizes import SEAL_SECRET, UNTIL, InstallationSize
from tests.bench.page_costs.addresses import BOTH, Address, user_of
from tests.queue_reports import report_queue

ANSIBLE = Path(__file__).resolve().parents[3] / "ansible"


def stand_still() -> datetime:
    """The clock of rows that were written until then."""
    return UNTIL


@dataclass
class FilledPortal:
    cluster: Cluster
    app: Flask
    cookies: dict[str, str]
    tokens: dict[str, str]

    def get(self, address: Address) -> int:
        """The status of the answer, which is read to its end."""
        share_object(self.app, Cluster, self.cluster)
        headers = {"Accept-Language": "en"}
        client: FlaskClient = self.app.test_client()
        if address.path.startswith("/api/"):
            headers["Authorization"] = f"Bearer {self.tokens[address.role]}"
        else:
            client.set_cookie(f"gc_session_{self.cluster.settings.port}", self.cookies[address.role])
        answer = client.get(address.path, headers=headers)
        answer.get_data()
        answer.close()
        return answer.status_code


@contextmanager
def filled_portal(
    url: str, folder: Path, size: InstallationSize, app: Flask | None = None
) -> Iterator[FilledPortal]:
    """`app` is one that was built before: its templates are compiled already."""
    settings = Settings(
        state_dir=folder,
        cache_dir=folder / "cache",
        database_url=url,
        redis_url=f"unix://{folder}/redis.sock",
        secret_key=SEAL_SECRET,
        time_zone="Asia/Seoul",
        ansible_dir=ANSIBLE,
    )
    cluster = Cluster(Store(url), NullEventBus(), settings, stand_still)
    try:
        make_environment(cluster)
        keep_nodes_ready(cluster)
        report_queue(cluster)
        cookies, tokens = {}, {}
        for role in BOTH:
            user_id = user_of(size, role)
            actor = Actor(user_id, user_name(size, user_id), role == "administrator")
            cookies[role] = sessions.begin_session(cluster, user_id, "192.0.2.1", "a browser")
            tokens[role] = api_tokens.create_api_token(cluster, actor, "measure", ["read"], 30)[1]
        yield FilledPortal(cluster, app or create_app(cluster, testing=True), cookies, tokens)
    finally:
        cluster.store.close()


def log_warnings_only() -> None:
    """For the tools: each request would write a line between theirs."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


def make_environment(cluster: Cluster) -> None:
    """A training environment that is ready, as rows say it."""
    digest = "0" * 64
    with cluster.store.write() as session:
        session.merge(InstallationFact(name="default_environment", value={"digest": digest}))
        session.add(
            Environment(
                name="default",
                digest=digest,
                state=EnvironmentState.READY,
                path="/nonexistent",
                created_at=cluster.clock(),
            )
        )
