"""Templates are compiled once per language: what stands in them is translated then, what is filled in is escaped."""

import pytest
from flask import Flask, render_template
from jinja2 import DictLoader

from portal.i18n import translate
from portal.rendering.template_environment import TranslatingEnvironment

TEMPLATES = {
    "page.html": """{% from "macro.html" import word %}{% extends "base.html" %}
{% block head %}{{ _("Jobs") }} {{ _("until %(day)s", day=day) }}{% endblock %}
{% block body %}{{ word(_("Queue")) }} {{ _(message) }}
 {{ ngettext("%(num)d job", "%(num)d jobs", 2) }}{% endblock %}""",
    "base.html": """{{ language() }}{{ "!" if language() == "ko" }}:
{% block head %}{% endblock %} {% block body %}{% endblock %}""",
    "words.html": "{{ _('Jobs') }} {{ number }}",
    "macro.html": "{% macro word(text) %}{{ text }}, {{ _('Nodes') }}{% endmacro %}",
}
EXPECTED = {
    "en": "en:\nJobs until &lt;b&gt; Queue, Nodes Users\n 2 jobs",
    "ko": "ko!:\n작업 &lt;b&gt;까지 대기열, 노드 사용자\n 작업 2건",
}


@pytest.fixture
def app() -> Flask:
    app = Flask("portal")
    app.jinja_environment = TranslatingEnvironment
    app.jinja_env.loader = DictLoader(TEMPLATES)
    translate.init_app(app)
    return app


def test_one_template_speaks_the_language_of_each_request(app: Flask) -> None:
    for language, text in [*EXPECTED.items()] * 2:
        with app.test_request_context(headers={"Accept-Language": language}):
            assert render_template("page.html", day="<b>", message="Users") == text


def test_fixed_texts_are_looked_up_once(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    with app.test_request_context(headers={"Accept-Language": "ko"}):
        assert render_template("words.html", number=1) == "작업 1"
        monkeypatch.setitem(app.jinja_env.globals, "_", None)
        assert render_template("words.html", number=2) == "작업 2"
