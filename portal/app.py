"""Builds the Flask application: configuration, extensions, request hooks, every blueprint of views/ and api/."""

import importlib
import pkgutil
from types import ModuleType

from flask import Flask

from cluster.services.context import Cluster
from portal import api, app_configuration, presenters, recent_values, views
from portal.i18n import messages, reader, sentence_times, shown_moments, translate
from portal.job_files.metrics import export_slots, metrics_cache
from portal.layout import page_layout, theme
from portal.rendering import answer_marks, facts, kept_html, template_environment
from portal.shared_objects import share_object
from portal.web import (
    concurrency_limit,
    csrf,
    errors,
    forms,
    read_connection,
    request_log,
    route_permissions,
    row_ids,
    security_headers,
    session_cookie,
    uploads,
)
from portal.web.responses import fragments


def build_app(cluster: Cluster, testing: bool = False) -> Flask:
    """Build the application. Raises permissions.UndeclaredEndpoint if a route has no rule."""
    app = Flask(__name__.partition(".")[0])
    app_configuration.configure_app(app, cluster.settings, testing)
    app.jinja_environment = template_environment.TranslatingEnvironment
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True}
    share_object(app, Cluster, cluster)
    metrics_cache.init_app(app)
    export_slots.init_app(app)
    recent_values.init_app(app)
    request_log.init_app(app)
    concurrency_limit.init_app(app)
    read_connection.init_app(app)
    security_headers.init_app(app)
    answer_marks.init_app(app)
    reader.init_app(app)
    translate.init_app(app)
    shown_moments.init_app(app)
    sentence_times.init_app(app)
    theme.init_app(app)
    page_layout.init_app(app)
    messages.init_app(app)
    facts.init_app(app)
    kept_html.init_app(app)
    for presenter in list_modules(presenters):
        if hasattr(presenter, "init_app"):
            presenter.init_app(app)
    uploads.init_app(app)
    app.add_template_global(forms.password_help)
    session_cookie.init_app(app)
    errors.init_app(app)
    # The guard comes before the CSRF check: it answers that the person has to sign in, not that a token is missing.
    route_permissions.init_app(app)
    csrf.init_app(app)
    fragments.init_app(app)
    row_ids.init_app(app)
    for view in list_modules(views):
        app.register_blueprint(view.blueprint)
    api.init_app(app)
    route_permissions.require_rule_for_every_route(app)
    return app


def list_modules(package: ModuleType) -> list[ModuleType]:
    """Imports the modules of a package and of the packages in it, and returns them in the order of their names."""
    modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [importlib.import_module(name) for name in sorted(each.name for each in modules if not each.ispkg)]
