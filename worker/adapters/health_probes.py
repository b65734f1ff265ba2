"""Health probes of Redis, the database and the portal: each is asked once, with a short timeout."""

from pathlib import Path

import httpx
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from cluster.portal_paths import HEALTH
from cluster.settings import Settings
from cluster.store.engine import Store
from cluster.store.users import User

TIMEOUT_SECONDS = 2
"""Seconds."""
PORTAL_SECONDS = 5.0
LONGEST_ERROR = 200


def redis_problem(settings: Settings) -> str:
    """The error of Redis; empty if it answers."""
    connection = redis.Redis.from_url(
        settings.redis_url,
        socket_connect_timeout=TIMEOUT_SECONDS,
        socket_timeout=TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        connection.ping()
    except redis.RedisError as error:
        return first_line(error)
    finally:
        connection.close()
    return ""


def database_problem(settings: Settings) -> str:
    """The reason why no writing transaction can begin; empty if one can. A missing database file is not created."""
    store = Store(settings.database_url, TIMEOUT_SECONDS)
    if store.is_sqlite and not Path(store.url.database or "").is_file():
        return f"{store.url.database} is not there"
    try:
        with store.write() as session:
            session.scalar(select(User.id).limit(1))
    except SQLAlchemyError as error:
        return first_line(getattr(error, "orig", None) or error)
    finally:
        store.close()
    return ""


def portal_status(settings: Settings) -> int | None:
    """The HTTP status of /health, or None without an answer."""
    scheme = "http" if settings.tls_dir is None else "https"
    url = f"{scheme}://{settings.host}:{settings.port}"
    if settings.repair_broker is not None:
        # On servers nginx serves the site only under its public name.
        url = settings.public_url
    try:
        # Only the answer matters: no secret is sent, and an expired certificate has its own check.
        return httpx.get(
            f"{url}{HEALTH}", timeout=PORTAL_SECONDS, verify=False, follow_redirects=True, trust_env=False
        ).status_code
    except httpx.HTTPError:
        return None


def first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return (lines[0] if lines else type(error).__name__)[:LONGEST_ERROR]
