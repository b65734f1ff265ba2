"""Builds the Flask application: configuration, extensions, request hooks, every blueprint of views/ and api/."""

import importlib
import pkgutil
from typing import Any

from flask import Blueprint, Flask, current_app, request
from flask_wtf.csrf import CSRFProtect
from werkzeug.routing import IntegerConverter, Map

from cluster.portal_paths import form_cookie_name
from cluster.services.context import Cluster
from cluster.store.base import LARGEST_ID
from portal import api, views
from portal.i18n import messages, translate
from portal.layout import page_layout, theme
from portal.live.event_hub import EventHub
from portal.live.event_stream import StreamSlots
from portal.presenters import job_texts, kubernetes_health, node_problems, runbook, unit_words
from portal.web import (
    concurrency_limit,
    errors,
    forms,
    read_connection,
    request_log,
    route_permissions,
    security_headers,
    session_cookie,
    uploads,
)
from portal.web.request_context import is_api_request

YEAR_SECONDS = 365 * 24 * 3600


def build_app(cluster: Cluster, testing: bool = False) -> Flask:
    """Build the application. Raises permissions.UndeclaredEndpoint if a route has no rule."""
    settings = cluster.settings
    app = Flask(__name__.partition(".")[0])
    is_https = settings.public_url.startswith("https://")
    app.config.update(
        SECRET_KEY=settings.secret_key,
        TESTING=testing,
        # A form may stay open over night: its token lives as long as the browser's session.
        WTF_CSRF_TIME_LIMIT=None,
        # The small signed cookie that holds the CSRF token; who is signed in is a row, see sign_in.py.
        SESSION_COOKIE_NAME=form_cookie_name(settings.port),
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
    app.extensions["event_hub"] = EventHub(settings.redis_url)
    app.extensions["stream_slots"] = StreamSlots()
    request_log.init_app(app)
    concurrency_limit.init_app(app)
    read_connection.init_app(app)
    security_headers.init_app(app)
    translate.init_app(app)
    app.config["groundcrew_clock"] = cluster.clock
    theme.init_app(
        app,
        version=settings.version,
        read_layout=page_layout.read_page_layout,
        remember=page_layout.save_preference,
    )
    messages.init_app(app)
    unit_words.init_app(app)
    job_texts.init_app(app)
    kubernetes_health.init_app(app)
    node_problems.init_app(app)
    uploads.init_app(app)
    runbook.init_app(app)
    app.add_template_global(forms.password_help)
    session_cookie.init_app(app)
    errors.init_app(app)
    # The guard comes before the CSRF check: who has to sign in first is told so, not that a token is missing.
    route_permissions.init_app(app)
    app.config["WTF_CSRF_CHECK_DEFAULT"] = False
    csrf = CSRFProtect(app)
    app.before_request(lambda: check_csrf_token(csrf))
    app.url_map.converters["int"] = RowIdConverter
    for blueprint in list_blueprints():
        app.register_blueprint(blueprint)
    api.init_app(app)
    route_permissions.require_rule_for_every_route(app)
    return app


class RowIdConverter(IntegerConverter):
    """A number that no row can have is no address: what the database could not even compare is 404."""

    def __init__(self, url_map: Map, **options: Any) -> None:
        super().__init__(url_map, max=LARGEST_ID, **options)


def list_blueprints() -> list[Blueprint]:
    """The `blueprint` of every module in views/."""
    modules = pkgutil.walk_packages(views.__path__, f"{views.__name__}.")
    names = sorted(module.name for module in modules if not module.ispkg)
    return [importlib.import_module(name).blueprint for name in names]


def check_csrf_token(csrf: CSRFProtect) -> None:
    """REST brings a token of its own, never a cookie alone; reports come from the browser itself."""
    if not (is_api_request() or request.endpoint == "health.csp_report" or current_app.testing):
        csrf.protect()
