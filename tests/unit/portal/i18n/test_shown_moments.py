"""A moment becomes words once, so that HTML can be kept for it."""

from datetime import timedelta

from flask import Flask

from portal.i18n.shown_moments import ShownMoment, shown_age, shown_moment
from tests.unit.portal.conftest import NOW


def test_an_age_is_the_words_of_the_moment_it_was_read(in_request: Flask) -> None:
    when = NOW - timedelta(minutes=4)
    assert shown_age(when) == ShownMoment("4 min ago", "2026-11-20 14:02:00", "2026-11-20T05:02:00+00:00")
    assert shown_moment(when) == ShownMoment("14:02", "2026-11-20 14:02:00", "2026-11-20T05:02:00+00:00")
    assert (shown_age(None), shown_moment(None)) == (None, None)
