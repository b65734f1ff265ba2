"""A moment as a page shows it, in words: plain values that HTML can be kept for (portal/rendering/kept_html.py)."""

from datetime import datetime, tzinfo
from typing import NamedTuple

from flask import Flask

from cluster import words
from portal.i18n.reader_zone import request_zone
from portal.i18n.translate import localized_datetime, localized_short_datetime, now, request_language


class ShownMoment(NamedTuple):
    """`words` is the shown text, `whole` the whole moment for its title, `machine` for programs (ISO 8601)."""

    words: str
    whole: str
    machine: str


class ReaderTime(NamedTuple):
    """The values that every moment on a page needs. A list reads them once for all of its rows."""

    language: str
    zone: tzinfo
    now: datetime

    def age(self, when: datetime) -> ShownMoment:
        seconds = (self.now - words.parse_moment(when)).total_seconds()
        age = words.format_age(seconds, self.language)
        return ShownMoment(age, words.format_datetime(when, self.zone), when.isoformat())


def reader_time() -> ReaderTime:
    return ReaderTime(request_language(), request_zone(), now())


def shown_age(when: datetime | None) -> ShownMoment | None:
    """ "4 min ago"."""
    return reader_time().age(when) if when else None


def shown_moment(when: datetime | None) -> ShownMoment | None:
    """The time today, else day and time. A moment that a row does not have is None."""
    if not when:
        return None
    return ShownMoment(localized_short_datetime(when), localized_datetime(when), when.isoformat())


def init_app(app: Flask) -> None:
    app.jinja_env.globals.update(shown_age=shown_age, shown_moment=shown_moment)
