"""Sentences, pages, mails, the console and the command write one value in one way, and call one state by one word."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import click
import pytest
from flask import Flask, render_template_string
from markupsafe import Markup

from cluster import words
from cluster.domain.jobs.memory import parse_size
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.words.english import SENTENCES, WORDS
from portal.cli import messages, output
from portal.cli.commands import submission
from portal.i18n import messages as page_messages
from portal.i18n import translate
from portal.shared_objects import share_object
from portal.web.forms import parse_duration
from tests.unit.korean_texts import list_korean_texts, list_outside_english
from worker.console.prompt import terminal_sentence
from worker.tasks.messages.alert_texts import occurrence_text

SEOUL = ZoneInfo("Asia/Seoul")
NOW = datetime(2026, 11, 20, 14, 6, tzinfo=SEOUL)
KIBIBYTE, MEBIBYTE, GIBIBYTE = 1024, 1024**2, 1024**3

FORMS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "bytes": ("bytes", output.readable_size),
    "percent": ("percent", output.readable_percent),
    "duration": ("duration", output.readable_duration),
    "number": ("number", output.readable_number),
    "clock": ("short", output.local_datetime),
}
"""A sentence's placeholder, the filter of pages and the function of the command for the same kind of value."""

VALUES: dict[str, list[tuple[Any, str, str]]] = {
    "bytes": [
        (0, "0 B", "0 B"),
        (1023, "1023 B", "1023 B"),
        (1536, "1.5 KiB", "1.5 KiB"),
        (MEBIBYTE - 1, "1.0 MiB", "1.0 MiB"),
        (99.96 * MEBIBYTE, "100 MiB", "100 MiB"),
        (8 * GIBIBYTE, "8.0 GiB", "8.0 GiB"),
        (148_000_000_000, "138 GiB", "138 GiB"),
        (5000 * KIBIBYTE**5, "5000 PiB", "5000 PiB"),
    ],
    "percent": [
        (0, "0 %", "0 %"),
        (0.29, "29 %", "29 %"),
        (0.996, "99 %", "99 %"),
        (1, "100 %", "100 %"),
        (1.5, "100 %", "100 %"),
    ],
    "duration": [
        (0.4, "0 s", "0초"),
        (59.6, "1 min", "1분"),
        (250, "4 min 10 s", "4분 10초"),
        (3605, "1 h", "1시간"),
        (10_020, "2 h 47 min", "2시간 47분"),
        (86_400, "1 d", "1일"),
        (3 * 86_400 + 4 * 3600, "3 d 4 h", "3일 4시간"),
    ],
    "number": [
        (0, "0", "0"),
        (2.0, "2", "2"),
        (18_204, "18,204", "18,204"),
        (0.951, "0.951", "0.951"),
        (0.00012, "0.00012", "0.00012"),
        (4180.25, "4,180.2", "4,180.2"),
        (float("nan"), "NaN", "NaN"),
        (float("-inf"), "−∞", "−∞"),
    ],
    "clock": [
        ("2026-11-20T05:38:00+00:00", "14:38", "14:38"),
        ("2026-11-19T05:38:00+00:00", "11-19 14:38", "11-19 14:38"),
        ("2025-12-31T14:38:00+00:00", "2025-12-31 23:38", "2025-12-31 23:38"),
    ],
}
CASES = [
    (form, value, language, text)
    for form, values in VALUES.items()
    for value, english, korean in values
    for language, text in (("en", english), ("ko", korean))
]


@pytest.fixture(scope="module")
def cluster() -> Any:
    return SimpleNamespace(settings=SimpleNamespace(zone=SEOUL), clock=lambda: NOW)


@pytest.fixture(scope="module")
def app(cluster: Any) -> Flask:
    app = Flask("portal")
    share_object(app, Cluster, cluster)
    translate.init_app(app)
    page_messages.init_app(app)
    return app


@pytest.fixture(autouse=True)
def sentence_of_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence for each form that is nothing but its value."""
    for form in FORMS:
        monkeypatch.setitem(SENTENCES, f"value.{form}", f"{{value:{form}}}")


@pytest.fixture
def machine_in_seoul(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For the command, which shows times of the machine that it runs on."""

    class Frozen(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "Frozen":
            return cls.fromtimestamp(NOW.timestamp(), tz)

    monkeypatch.setattr(output, "datetime", Frozen)
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def in_page(app: Flask, language: str, template: str, **values: Any) -> str:
    with app.test_request_context("/", headers={"Cookie": f"gc_language={language}"}):
        return render_template_string(template, **values)


@pytest.mark.parametrize(("form", "value", "language", "text"), CASES)
def test_a_sentence(form: str, value: object, language: str, text: str) -> None:
    assert words.sentence(f"value.{form}", {"value": value}, language, SEOUL, NOW) == text


@pytest.mark.parametrize(("form", "value", "language", "text"), CASES)
def test_a_page(app: Flask, form: str, value: Any, language: str, text: str) -> None:
    shown = datetime.fromisoformat(value) if form == "clock" else value
    page_filter = FORMS[form][0]
    # A moment is an element that carries the exact one.
    assert Markup(in_page(app, language, f"{{{{ value|{page_filter} }}}}", value=shown)).striptags() == text
    assert (
        in_page(app, language, "{{ sentence_for(code, data) }}", code=f"value.{form}", data={"value": value})
        == text
    )


@pytest.mark.parametrize(("form", "value", "language", "text"), CASES)
def test_the_console(
    cluster: Any, form: str, value: object, language: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", f"{language}.UTF-8")
    assert terminal_sentence(cluster, f"value.{form}", {"value": value}) == text


@pytest.mark.parametrize(("form", "value", "language", "text"), CASES)
def test_a_mail(cluster: Any, form: str, value: object, language: str, text: str) -> None:
    occurrence: Any = SimpleNamespace(
        alert={"code": f"value.{form}", "data": {"value": value}, "details": []}, began_at=NOW
    )
    assert occurrence_text(cluster, occurrence, language) == text


@pytest.mark.usefixtures("machine_in_seoul")
@pytest.mark.parametrize(("form", "value", "language", "text"), CASES)
def test_the_command(
    form: str, value: object, language: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", f"{language}.UTF-8")
    assert FORMS[form][1](value) == text


@pytest.mark.parametrize("language", words.LANGUAGES)
@pytest.mark.parametrize(("message", "seconds", "number"), [("{n} s ago", 59, 59), ("{n} min ago", 3599, 59)])
def test_the_live_mark_of_a_page(app: Flask, language: str, message: str, seconds: int, number: int) -> None:
    """Its script fills in the number."""
    shown = in_page(app, language, "{{ _(message) }}", message=message).replace("{n}", str(number))
    assert shown == words.format_age(seconds, language)


@pytest.mark.parametrize("value", [0.9512, 0.9996, 1.0, float("nan")])
def test_an_accuracy_has_one_digit_on_pages_and_in_the_command(app: Flask, value: float) -> None:
    assert in_page(app, "en", "{{ value|percent(1) }}", value=value) == output.readable_metric(
        "accuracy/validation", value
    )


@pytest.mark.parametrize("text", ["90", "90s", "30m", "2h", "1d", "2 h", "soon", "1.5h", "", "-1", "9" * 8])
@pytest.mark.parametrize("bare_unit", ["s", "m"])
def test_the_form_and_the_command_read_one_duration(text: str, bare_unit: str) -> None:
    try:
        typed: int | None = submission.parse_duration(text, bare_unit)
    except click.BadParameter:
        typed = None
    assert typed == parse_duration(text, bare_unit)


def test_a_bare_time_limit_is_minutes_and_a_bare_grace_seconds() -> None:
    options = {option.name: option for option in submission_parameters()}
    assert options["time_limit"].callback(None, None, "90") == 90 * 60
    assert options["grace"].callback(None, None, "90") == 90


def submission_parameters() -> list[Any]:
    @click.command()
    @submission.submission_options("", "")
    def submit() -> None: ...

    return list(submit.params)


@pytest.mark.parametrize("text", ["12GiB", "12 GiB", "1.5TiB", "800MiB", "12", "0.3", "12GB", "much", ""])
def test_the_form_and_the_command_read_one_size(text: str) -> None:
    try:
        typed: int | None = submission.parse_size(text)
    except click.BadParameter:
        typed = None
    assert typed == parse_size(text)


def test_no_english_text_has_two_korean_ones() -> None:
    korean: dict[str, dict[str, str]] = {}
    for place, english, text in list_korean_texts():
        korean.setdefault(english, {})[text] = place
    different = {english: texts for english, texts in korean.items() if len(texts) > 1}
    assert not different


STATE_GROUPS = ("state.", "verdict.", "repair.group.")
HEADINGS = {"Ended", "service"}
"""No states: the moment at which something ended, and the column of the names of services."""


def test_no_state_is_named_outside_of_the_words() -> None:
    states = {text.lower() for code, text in WORDS.items() if code.startswith(STATE_GROUPS)}
    assert {"running", "verified", "not run", "fix"} <= states
    named = {
        f"{place}: {english}"
        for place, english in list_outside_english()
        if english.lower() in states and english not in HEADINGS
    }
    assert not named, "\n".join(sorted(named))


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_the_command_names_the_states_of_a_job_as_pages_do(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", f"{language}.UTF-8")
    assert set(messages.STATES) == set(JobState)
    assert {state: messages.state_name(state) for state in messages.STATES} == {
        state.value: words.word("state.job", state, language) for state in JobState
    }
