"""Builds the Flask application: configuration, extensions, request hooks, every blueprint of views/ and api/."""

import importlib
import pkgutil

from flask import Blueprint, Flask

from cluster.services.context import Cluster
from portal import api, app_configuration, recent_values, views
from portal.i18n import messages, reader, sentence_times, shown_moments, translate
from portal.job_files.metrics import export_slots, metrics_cache
from portal.layout import page_layout, theme
from portal.presenters import access_log, runbook, unit_words, workspace_page
from portal.presenters.jobs import job_rows, job_texts
from portal.presenters.nodes import kubernetes_health, node_problems
from portal.presenters.queue import waiting_rows, waiting_texts
from portal.presenters.repairs import repair_texts
from portal.presenters.sweeps import sweep_rows
from portal.rendering import answer_marks, facts, kept_html, template_environment
from portal.shared_objects import share_object
from portal.web import (
    concurrency_limit,
    csrf,
    errors,
    forms,
    fragments,
    read_connection,
    request_log,
    route_permissions,
    row_ids,
    security_headers,
    session_cookie,
    uploads,
)


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
    unit_words.init_app(app)
    job_texts.init_app(app)
    waiting_texts.init_app(app)
    waiting_rows.init_app(app)
    job_rows.init_app(app)
    sweep_rows.init_app(app)
    workspace_page.init_app(app)
    kubernetes_health.init_app(app)
    node_problems.init_app(app)
    uploads.init_app(app)
    runbook.init_app(app)
    repair_texts.init_app(app)
    access_log.init_app(app)
    app.add_template_global(forms.password_help)
    session_cookie.init_app(app)
    errors.init_app(app)
    # The guard comes before the CSRF check: it answers that the person has to sign in, not that a token is missing.
    route_permissions.init_app(app)
    csrf.init_app(app)
    fragments.init_app(app)
    row_ids.init_app(app)
    for blueprint in list_blueprints():
        app.register_blueprint(blueprint)
    api.init_app(app)
    route_permissions.require_rule_for_every_route(app)
    return app


def list_blueprints() -> list[Blueprint]:
    """The `blueprint` of every module in views/."""
    modules = pkgutil.walk_packages(views.__path__, f"{views.__name__}.")
    names = sorted(module.name for module in modules if not module.ispkg)
    return [importlib.import_module(name).blueprint for name in names]
