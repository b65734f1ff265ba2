"""HTML that is kept is what would be rendered now, for every person and every row."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader, UndefinedError
from markupsafe import Markup

from cluster.domain.states import JobState
from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.store.engine import Store
from cluster.store.jobs import Job
from portal.i18n import messages, translate
from portal.i18n.shown_moments import ShownMoment
from portal.rendering import kept_html
from portal.rendering.kept_html import (
    KeptHtml,
    PureEnvironments,
    ReadsMoreThanItsValue,
    fingerprint,
    render_kept,
    render_rows,
)
from portal.rendering.template_environment import TranslatingEnvironment
from portal.shared_objects import share_object, shared_object
from tests.conftest import settings_for

TEMPLATES = {
    "rows.html": """{% macro row(job) -%}
<tr{% if job.is_mine %} class="mine"{% endif %}><td>{{ _("Jobs") }} {{ job.number }} {{ job.name }}
 {{ word_for("state.job", job.state) }} {{ job.size|bytes }} {% if job.age %}{{ job.age.words }}{% endif %}
 {% if job.may_stop %}<a href="/jobs/{{ job.number }}/stop">{{ _("Stop") }}</a>{% endif %}</td></tr>
{% endmacro %}""",
    "times.html": "{% macro row(at) %}{{ at|clock }}{% endmacro %}",
    "impure.html": """{% macro clock(row) %}{{ row.at|ago }}{% endmacro %}
{% macro person(row) %}{{ current_user.name }}{% endmacro %}
{% macro flag(row) %}{% if is_mine %}x{% endif %}{% endmacro %}
{% macro sentence(row) %}{{ sentence_for("http.404") }}{% endmacro %}""",
}
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


class JobRow(NamedTuple):
    number: int | bool
    name: str
    state: JobState
    size: int | None = None
    age: ShownMoment | None = None
    is_mine: bool = False
    may_stop: bool = False


@dataclass(frozen=True)
class Place:
    name: str


@dataclass
class Mutable:
    name: str


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    app = Flask("portal")
    app.jinja_environment = TranslatingEnvironment
    app.jinja_env.loader = DictLoader(TEMPLATES)
    settings = settings_for("sqlite://", tmp_path_factory.mktemp("portal"))
    share_object(app, Cluster, Cluster(Store("sqlite://"), NullEventBus(), settings, lambda: NOW))
    translate.init_app(app)
    messages.init_app(app)
    kept_html.init_app(app)
    return app


texts = st.sampled_from(["a", "<b>a</b>", "작업", ""])
rows = st.builds(
    JobRow,
    st.one_of(st.integers(0, 2), st.booleans()),
    st.one_of(texts, texts.map(Markup)),
    st.sampled_from(JobState),
    st.sampled_from([None, 0, 5_000]),
    st.sampled_from([None, ShownMoment("4 min ago", "x", "y"), ShownMoment("5 min ago", "x", "y")]),
    st.booleans(),
    st.booleans(),
)
"""One row as several people see it: `is_mine` and `may_stop` are the reader's."""


@given(st.lists(st.tuples(st.sampled_from(["en", "ko"]), rows), max_size=12))
def test_what_is_kept_is_what_would_be_rendered(app: Flask, asked: list[tuple[str, JobRow]]) -> None:
    kept = shared_object(KeptHtml, app)
    for language, row in asked:
        with app.test_request_context(headers={"Accept-Language": language}):
            shown = render_rows("rows.html", "row", [row])
            share_object(app, KeptHtml, KeptHtml())
            fresh = render_rows("rows.html", "row", [row])
        share_object(app, KeptHtml, kept)
        assert shown == fresh


def test_html_with_a_time_is_kept_for_one_zone(app: Flask) -> None:
    shown = []
    for zone in ("Asia/Seoul", "Europe/Berlin", "Asia/Seoul"):
        with app.test_request_context(headers={"Cookie": f"gc_time_zone={zone}"}):
            shown.append(render_kept("times.html", "row", NOW))
    assert ">21:00<" in shown[0] and ">13:00<" in shown[1] and shown[2] == shown[0]


def test_a_row_that_is_kept_is_not_rendered_again(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    with app.test_request_context():
        rendered = render_rows("rows.html", "row", [JobRow(7, "first", JobState.RUNNING)] * 2)
        monkeypatch.setattr(shared_object(PureEnvironments), "macro", None)
        assert render_rows("rows.html", "row", [JobRow(7, "first", JobState.RUNNING)] * 2) == rendered
        with pytest.raises(TypeError):
            render_rows("rows.html", "row", [JobRow(8, "first", JobState.RUNNING)])


@pytest.mark.parametrize(
    ("macro", "problem"),
    [
        ("clock", ReadsMoreThanItsValue),
        ("person", UndefinedError),
        ("flag", UndefinedError),
        ("sentence", UndefinedError),
    ],
)
def test_a_macro_that_reads_more_than_its_value_is_refused(
    app: Flask, macro: str, problem: type[Exception]
) -> None:
    """Also where the page that it stands in has all of that."""
    with app.test_request_context(), pytest.raises(problem):
        render_kept("impure.html", macro, ShownMoment("a", "b", "c"))


@pytest.mark.parametrize("value", [["a"], {"a": 1}, object(), (["a"],), Job(id=1), Mutable("a")])
def test_what_may_change_after_it_was_rendered_is_no_key(value: object) -> None:
    with pytest.raises(TypeError):
        fingerprint(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        ("<b>", Markup("<b>")),
        (("a", ("<b>",)), ("a", (Markup("<b>"),))),
        (Place("a"), ("a",)),
        (Place("1"), Place(1)),  # type: ignore[arg-type]
    ],
)
def test_values_that_look_otherwise_have_other_keys(one: object, other: object) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_what_was_used_last_stays_within_the_bytes() -> None:
    kept = KeptHtml(most_bytes=3 * 2_000)
    for name in ("a", "b", "c"):
        kept.put(name, Markup("x" * 1_300), 100)
    assert kept.get("a") is not None
    kept.put("d", Markup("x" * 1_300), 100)
    assert [name for name in "abcd" if kept.get(name)] == ["a", "c", "d"]
    kept.put("d", Markup("y"), 0)
    assert (kept.get("d"), kept.bytes < 3 * 2_000, len(kept)) == (Markup("y"), True, 3)
