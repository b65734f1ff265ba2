"""A small portal of samples: the components, a board, a job with graphs and a log. No cluster behind it.

`python -m tests.browser.component_gallery` serves it for whoever builds a page.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flask import Flask, Response, render_template, request

from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.store.engine import Store
from portal.i18n import messages, shown_moments, translate
from portal.layout import theme
from portal.layout.help_topics import help_url
from portal.layout.navigation import NavigationUser, PageLayout, RailView, administrator_navigation
from portal.rendering import answer_marks, kept_html
from portal.rendering.template_environment import TranslatingEnvironment
from portal.shared_objects import share_object
from portal.views.guidance import help, search
from portal.views.people import preferences, sign_in
from portal.web import csrf, security_headers, session_cookie
from tests.browser.sample_data import log_text, metrics, sample
from tests.conftest import settings_for

NOW = datetime(2026, 11, 20, 5, 6, tzinfo=UTC)

FIRST_SECOND = 1795132800


@dataclass
class Tape:
    """What the sample job has written so far; a test adds to it."""

    steps: int = 200
    log: bytearray = field(default_factory=bytearray)


def make_app(tape: Tape | None = None) -> Flask:
    """The gallery; `app.config["reports"]` collects what browsers report. No page reads the database."""
    tape = tape or Tape(log=bytearray(log_text()))
    app = Flask("portal")
    app.config.update(TESTING=True, SECRET_KEY="gallery", reports=[])
    app.jinja_environment = TranslatingEnvironment
    app.jinja_options = {"trim_blocks": True, "lstrip_blocks": True}
    settings = settings_for("sqlite://", Path("/nowhere"))
    share_object(app, Cluster, Cluster(Store(settings.database_url), NullEventBus(), settings, lambda: NOW))
    security_headers.init_app(app)
    session_cookie.init_app(app)
    translate.init_app(app)
    shown_moments.init_app(app)
    messages.init_app(app)
    answer_marks.init_app(app)
    kept_html.init_app(app)
    csrf.init_app(app)
    app.register_blueprint(preferences.blueprint)
    app.register_blueprint(sign_in.blueprint)
    app.register_blueprint(search.blueprint)
    app.register_blueprint(help.blueprint)
    app.add_template_global(help_url)
    theme.init_app(app)
    app.context_processor(add_layout)
    add_pages(app)
    add_files(app, tape)
    add_stream(app)
    return app


def add_layout() -> dict[str, object]:
    layout = page_layout()
    return {"layout": layout, "rail_view": lambda: RailView(layout, theme.current_theme(), "14:06")}


def page_layout() -> PageLayout:
    counts = {"/queue": 45, "/workspaces": 6, "/jobs": 25}
    return PageLayout(
        "lab-a",
        "0.1.0",
        administrator_navigation(request.path, counts, {"/": 5, "/nodes": 3}),
        NavigationUser("hjkim"),
        opens_stream=True,
        topics=("queue",),
        sign_out_url="#",
    )


def add_pages(app: Flask) -> None:
    @app.get("/")
    def board() -> str:
        return render_template("components/dashboard.html", sample=sample())

    @app.get("/components")
    def components() -> str:
        return render_template("components/page.html", sample=sample())

    @app.get("/gate")
    def gate() -> str:
        return render_template("components/sign_in.html")

    @app.get("/job")
    def job() -> str:
        return render_template(
            "components/job.html", sample=sample(), tab=request.args.get("tab", "overview")
        )


def add_files(app: Flask, tape: Tape) -> None:
    """What the sample job has written: values of its graphs, and its log in chunks."""

    @app.get("/metrics")
    def values() -> dict[str, Any]:
        values = metrics(tape.steps)
        steps_per_x = {"step": 1, "epoch": 20, "time": 60}[request.args.get("x", "step")]
        values["series"] = {
            name: [[step / steps_per_x for step in steps], ys]
            for name, (steps, ys) in values["series"].items()
        }
        return values

    @app.get("/log")
    def log() -> Response:
        offset = request.args.get("offset", -65536, int)
        limit = request.args.get("limit", 65536, int)
        start = max(0, len(tape.log) + offset) if offset < 0 else min(offset, len(tape.log))
        body = bytes(tape.log[start : start + limit])
        end = start + len(body)
        times = log_times(bytes(tape.log), min(start, request.args.get("times", 0, int)), end)
        return Response(
            times + body,
            mimetype="text/plain",
            headers={
                "X-Log-Start": start,
                "X-Log-Next": end,
                "X-Log-EOF": "1" if end == len(tape.log) else "0",
                "X-Log-Times": len(times),
                "X-Log-Line": tape.log.count(b"\n", 0, start) + 1,
            },
        )


def log_times(log: bytes, begin: int, end: int) -> bytes:
    """One line a second from 2026-11-20 00:00:00 UTC; the last line's time is recorded when another one follows."""
    entries, size = [], 0
    for number, line in enumerate(log.split(b"\n")[:-2]):
        size += len(line) + 1
        if begin < size and size - len(line) <= end:
            entries.append(b"%d %d\n" % (size, FIRST_SECOND + number))
    return b"".join(entries)


def add_stream(app: Flask) -> None:
    @app.get("/stream")
    def stream() -> Response:
        def beats() -> Iterator[str]:
            for _beat in range(120):
                yield 'event: beat\ndata: {"seconds": 1}\n\n'
                time.sleep(0.5)

        return Response(beats(), mimetype="text/event-stream")

    @app.post("/csp-report")
    def csp_report() -> Response:
        app.config["reports"].append(request.get_data(as_text=True))
        return Response(status=204)


if __name__ == "__main__":
    make_app().run(port=8471, threaded=True)
