"""Times, numbers and texts in the reader's language and time zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask import Flask, g, render_template_string

from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.store.engine import Store
from portal.i18n import translate
from portal.shared_objects import share_object
from tests.conftest import settings_for

NOW = datetime(2026, 11, 20, 5, 6, tzinfo=UTC)


@pytest.fixture
def app() -> Flask:
    app = Flask("portal")
    settings = settings_for("sqlite://", Path("/nowhere"))
    share_object(app, Cluster, Cluster(Store(settings.database_url), NullEventBus(), settings, lambda: NOW))
    translate.init_app(app)
    return app


@pytest.fixture(params=["ko", "en"])
def spoken(request: pytest.FixtureRequest, app: Flask) -> Iterator[str]:
    with app.test_request_context("/", headers={"Cookie": f"gc_language={request.param}"}):
        yield request.param


@pytest.mark.parametrize(
    ("seconds", "ko", "en"),
    [
        (0, "0초", "0 s"),
        (41.4, "41초", "41 s"),
        (59.6, "1분", "1 min"),
        (250, "4분 10초", "4 min 10 s"),
        (10020, "2시간 47분", "2 h 47 min"),
        (7200, "2시간", "2 h"),
        (86400, "1일", "1 d"),
        (3 * 86400 + 4 * 3600, "3일 4시간", "3 d 4 h"),
        (None, "–", "–"),
        (-3, "0초", "0 s"),
    ],
)
def test_a_duration_has_at_most_two_units(spoken: str, seconds: float | None, ko: str, en: str) -> None:
    assert translate.localized_duration(seconds) == {"ko": ko, "en": en}[spoken]


@pytest.mark.parametrize(
    ("seconds", "ko", "en"),
    [
        (-5, "지금", "now"),
        (2, "2초 전", "2 s ago"),
        (240, "4분 전", "4 min ago"),
        (11 * 3600, "11시간 전", "11 h ago"),
        (86400, "1일 전", "1 d ago"),
        (9 * 86400, "9일 전", "9 d ago"),
    ],
)
def test_ago_is_one_unit(spoken: str, seconds: int, ko: str, en: str) -> None:
    assert translate.localized_age(NOW - timedelta(seconds=seconds)) == {"ko": ko, "en": en}[spoken]


def test_times_are_in_the_zone_of_the_installation(spoken: str) -> None:
    assert translate.localized_clock(NOW) == "14:06"
    assert translate.localized_short_datetime(NOW) == "14:06"
    assert translate.localized_short_datetime(NOW - timedelta(days=1)) == "11-19 14:06"
    assert translate.localized_short_datetime(datetime(2025, 12, 31, 16, 0, tzinfo=UTC)) == "01-01 01:00"
    assert translate.localized_short_datetime(datetime(2025, 12, 31, 14, 0, tzinfo=UTC)) == "2025-12-31 23:00"
    assert translate.localized_datetime(datetime(2026, 11, 20, 5, 6, 7)) == "2026-11-20 14:06:07"  # noqa: DTZ001
    assert (
        translate.localized_clock(None),
        translate.localized_datetime(None),
        translate.localized_short_datetime(None),
        translate.localized_age(None),
    ) == ("–",) * 4


@pytest.mark.parametrize(
    ("value", "text"),
    [(18204, "18,204"), (0.951, "0.951"), (0.00012, "0.00012"), (4180.25, "4,180.2"), (float("nan"), "NaN"),
     (float("inf"), "∞"), (float("-inf"), "−∞"), (None, "–"), (2.0, "2")],
)  # fmt: skip
def test_numbers_keep_what_matters(value: float | None, text: str) -> None:
    assert translate.localized_number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (2_100_000, "2.0 MiB"),
        (148_000_000_000, "138 GiB"),
        (1024**2 - 1, "1.0 MiB"),
        (None, "–"),
    ],
)
def test_sizes_are_binary(value: int | None, text: str) -> None:
    assert translate.localized_size(value) == text


def test_the_persons_choice_counts_before_cookie_and_browser(app: Flask) -> None:
    with app.test_request_context("/", headers={"Accept-Language": "ko-KR,ko;q=0.9,en;q=0.8"}):
        assert translate.request_language() == "ko"
        g.language = "en"
        assert translate.request_language() == "en"
    with app.test_request_context("/", headers={"Accept-Language": "fr", "Cookie": "gc_language=xx"}):
        assert translate.request_language() == "en"
    assert translate.request_language() == "en"


def test_a_template_speaks_the_language_and_escapes_what_it_fills_in(app: Flask) -> None:
    source = "{{ _('line %(line)s', line=word) }} {{ ngettext('%(num)d line', '%(num)d lines', 2) }} {{ 0.5|percent }}"
    with app.test_request_context("/", headers={"Cookie": "gc_language=ko"}):
        assert render_template_string(source, word="<b>") == "&lt;b&gt;번째 줄 2줄 50 %"
    with app.test_request_context("/", headers={"Cookie": "gc_language=en"}):
        assert render_template_string(source, word="<b>") == "line &lt;b&gt; 2 lines 50 %"


def test_a_fact_that_is_not_there_is_a_dash(app: Flask) -> None:
    with app.test_request_context("/"):
        assert render_template_string("{{ facts.memory|bytes }} {{ facts.at|ago }}", facts={}) == "– –"


def test_object_names_do_not_break_at_their_hyphen(app: Flask) -> None:
    with app.test_request_context("/"):
        assert str(translate.unbroken_names("<x> waits for job-1042")) == (
            '&lt;x&gt; waits for <span class="name">job-1042</span>'
        )


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0"), (1000, "1,000"), (1001, "1,000+"), (100_000, "1,000+")]
)
def test_a_count_that_was_not_followed_further_says_so(count: int, shown: str) -> None:
    assert translate.localized_capped_count(count) == shown


@pytest.mark.parametrize("name", ["clock", "moment", "short", "ago"])
def test_a_moment_on_a_page_carries_the_moment_for_programs(app: Flask, name: str) -> None:
    with app.test_request_context():
        shown = render_template_string("{{ when|" + name + " }}", when=NOW)
        assert shown.startswith('<time datetime="2026-11-20T05:06:00+00:00" title="2026-11-20 14:06:00">')
        assert render_template_string("{{ when|" + name + " }}", when=None) == "–"
