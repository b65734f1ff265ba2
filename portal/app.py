"""Puts the portal together: every file in views/ with a `blueprint` is a feature."""

import importlib
import pkgutil
from typing import Any

from flask import Blueprint, Flask, current_app, request
from flask_wtf.csrf import CSRFProtect
from werkzeug.routing import IntegerConverter, Map

from cluster.services.context import Cluster
from cluster.store.base import LARGEST_ID
from portal import (
    api,
    errors,
    fair_share,
    forms,
    headers,
    i18n,
    job_words,
    kubernetes_health,
    look,
    node_trouble,
    permissions,
    rail,
    reading,
    request_log,
    runbook,
    saying,
    sign_in,
    units,
    uploads,
    views,
)
from portal.current import is_api_request
from portal.doorbell import EventHub
from portal.live import StreamSlots

YEAR_SECONDS = 365 * 24 * 3600


def build_app(cluster: Cluster, testing: bool = False) -> Flask:
    """Raises permissions.UndeclaredEndpoint where a route has no rule."""
    settings = cluster.settings
    app = Flask(__name__.partition(".")[0])
    is_https = settings.public_url.startswith("https://")
    app.config.update(
        SECRET_KEY=settings.secret_key,
        TESTING=testing,
        # A form may stay open over night: its token lives as long as the browser's session.
        WTF_CSRF_TIME_LIMIT=None,
        # The small signed cookie that holds the CSRF token; who is signed in is a row, see sign_in.py.
        SESSION_COOKIE_NAME=f"gc_form_{settings.port}",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=is_https,
        MAX_CONTENT_LENGTH=settings.upload_limit_bytes,
        MAX_FORM_MEMORY_SIZE=1024 * 1024,
        MAX_FORM_PARTS=1000,
        SEND_FILE_MAX_AGE_DEFAULT=YEAR_SECONDS,
    )
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True}
    app.extensions["cluster"] = cluster
    app.extensions["doorbell"] = EventHub(settings.redis_url)
    app.extensions["stream_places"] = StreamSlots()
    request_log.init_app(app)
    fair_share.init_app(app)
    reading.init_app(app)
    headers.init_app(app)
    i18n.init_app(app)
    app.config["groundcrew_clock"] = cluster.clock
    look.init_app(app, version=settings.version, shell=rail.read_page_layout, remember=rail.save_preference)
    saying.init_app(app)
    units.init_app(app)
    job_words.init_app(app)
    kubernetes_health.init_app(app)
    node_trouble.init_app(app)
    uploads.init_app(app)
    runbook.init_app(app)
    app.add_template_global(forms.password_help)
    sign_in.init_app(app)
    errors.init_app(app)
    # The guard comes before the CSRF check: who has to sign in first is told so, not that a token is missing.
    permissions.init_app(app)
    app.config["WTF_CSRF_CHECK_DEFAULT"] = False
    csrf = CSRFProtect(app)
    app.before_request(lambda: check_csrf_token(csrf))
    app.url_map.converters["int"] = RowIdConverter
    for blueprint in list_blueprints():
        app.register_blueprint(blueprint)
    api.init_app(app)
    permissions.require_rule_for_every_route(app)
    return app


class RowIdConverter(IntegerConverter):
    """A number that no row can have is no address: what the database could not even compare is 404."""

    def __init__(self, url_map: Map, **options: Any) -> None:
        super().__init__(url_map, max=LARGEST_ID, **options)


def list_blueprints() -> list[Blueprint]:
    """The `blueprint` of every module in views/."""
    modules = sorted(module.name for module in pkgutil.iter_modules(views.__path__))
    return [importlib.import_module(f"{views.__name__}.{name}").blueprint for name in modules]


def check_csrf_token(csrf: CSRFProtect) -> None:
    """REST brings a token of its own, never a cookie alone; reports come from the browser itself."""
    if not (is_api_request() or request.endpoint == "health.csp_report" or current_app.testing):
        csrf.protect()
