"""A moment as a page shows it, in words: plain values that HTML can be kept for (portal/rendering/kept_html.py)."""

from datetime import datetime
from typing import NamedTuple

from flask import Flask

from portal.i18n.translate import localized_age, localized_datetime, localized_short_datetime


class ShownMoment(NamedTuple):
    """`words` is what stands there, `whole` the whole moment for its title, `machine` for programs (ISO 8601)."""

    words: str
    whole: str
    machine: str


def shown_age(when: datetime | None) -> ShownMoment | None:
    """ "4 min ago"."""
    return ShownMoment(localized_age(when), localized_datetime(when), when.isoformat()) if when else None


def shown_moment(when: datetime | None) -> ShownMoment | None:
    """The time today, else day and time. A moment that a row does not have is None."""
    if not when:
        return None
    return ShownMoment(localized_short_datetime(when), localized_datetime(when), when.isoformat())


def init_app(app: Flask) -> None:
    app.jinja_env.globals.update(shown_age=shown_age, shown_moment=shown_moment)
