"""Chooses the language of a request and translates the portal's messages.

Message ids are English. Korean stands in `translations/ko/<feature>.po`, one file per feature, read when the
application starts: there is no compiled catalogue to forget.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, wraps
from gettext import NullTranslations
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from flask import Flask, g, has_request_context, request
from jinja2 import Undefined
from markupsafe import Markup

from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.services.context import Cluster
from cluster.words.translations import read_translations
from portal.shared_objects import shared_object

LANGUAGES = ("ko", "en")
LANGUAGE_COOKIE = "gc_language"
PREFERRED_LANGUAGE_KEY = "groundcrew.wished_language"
TRANSLATIONS = Path(__file__).parent.parent / "translations"
MINUTE, HOUR, DAY = 60, 3600, 86400


@cache
def portal_translations(language: str) -> dict[str, str | tuple[str, ...]]:
    """English message → its translation, plural forms as a tuple; empty for English."""
    entries = read_translations(TRANSLATIONS, language)
    return {english: texts if len(texts) > 1 else texts[0] for _, (_, english), texts in entries}


def request_language() -> str:
    """The language of this request: the user's choice, the cookie, the browser's wish, else English."""
    if not has_request_context():
        return "en"
    chosen = g.get("language")
    if chosen in LANGUAGES:
        return str(chosen)
    # Asked for every word of a page, and the same for all of them: what a request wishes does not change.
    wished: str = request.environ.get(PREFERRED_LANGUAGE_KEY) or request.environ.setdefault(
        PREFERRED_LANGUAGE_KEY, preferred_language()
    )
    return wished


def preferred_language() -> str:
    """The language that the cookie or, failing that, the browser asks for."""
    chosen = request.cookies.get(LANGUAGE_COOKIE)
    if chosen in LANGUAGES:
        return str(chosen)
    return request.accept_languages.best_match(("en", "ko")) or "en"


def gettext(message: str, /, **values: Any) -> str:
    """The message in the request's language, with %(name)s filled in."""
    text = _single(portal_translations(request_language()).get(message, message))
    return text % values if values else text


def ngettext(one: str, many: str, number: int, /, **values: Any) -> str:
    """The message for that many; %(num)s is the number. Korean has one form."""
    entry = portal_translations(request_language()).get(one)
    text = _single(entry) if entry else (one if number == 1 else many)
    return text % {"num": number, **values}


_ = gettext


def _single(entry: str | tuple[str, ...]) -> str:
    return entry if isinstance(entry, str) else entry[0]


class _Catalogue(NullTranslations):
    """The translations object of jinja2.ext.i18n; newstyle functions fill in the placeholders."""

    def gettext(self, message: str) -> str:
        return _single(portal_translations(request_language()).get(message, message))

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        entry = portal_translations(request_language()).get(msgid1)
        return _single(entry) if entry else (msgid1 if n == 1 else msgid2)


def installation_zone() -> ZoneInfo:
    """The installation's one time zone."""
    return shared_object(Cluster).settings.zone


def now() -> datetime:
    """The current time by the installation's clock, aware."""
    return shared_object(Cluster).clock()


def localized_clock(when: datetime | None) -> str:
    """14:38."""
    return _local(when).strftime("%H:%M") if when else "–"


def localized_day(when: datetime | None) -> str:
    """11-20, with the year where it is another one."""
    if not when:
        return "–"
    local = _local(when)
    return local.strftime("%m-%d" if local.year == _local(now()).year else "%Y-%m-%d")


def localized_datetime(when: datetime | None) -> str:
    """2026-11-20 14:38:05, complete."""
    return _local(when).strftime("%Y-%m-%d %H:%M:%S") if when else "–"


def localized_short_datetime(when: datetime | None) -> str:
    """The clock if it is today, else day and clock."""
    if not when:
        return "–"
    return (
        localized_clock(when)
        if _local(when).date() == _local(now()).date()
        else f"{localized_day(when)} {localized_clock(when)}"
    )


def localized_duration(seconds: float | None) -> str:
    """At most two units: 41 s, 4 min 10 s, 2 h 47 min, 3 days 4 h."""
    if seconds is None:
        return "–"
    whole = max(0, round(seconds))
    if whole < MINUTE:
        return _("%(n)s s", n=whole)
    if whole < HOUR:
        return _two(_("%(n)s min", n=whole // MINUTE), whole % MINUTE, _("%(n)s s", n=whole % MINUTE))
    if whole < DAY:
        minutes = whole % HOUR // MINUTE
        return _two(_("%(n)s h", n=whole // HOUR), minutes, _("%(n)s min", n=minutes))
    hours = whole % DAY // HOUR
    return _two(ngettext("%(num)s day", "%(num)s days", whole // DAY), hours, _("%(n)s h", n=hours))


def _two(first: str, remainder: int, second: str) -> str:
    return f"{first} {second}" if remainder else first


def localized_age(when: datetime | None) -> str:
    """2 s ago, 4 min ago, 11 h ago, 3 days ago; "now" within a second or in the future."""
    if not when:
        return "–"
    whole = int((now() - _aware(when)).total_seconds())
    if whole < 1:
        return _("now")
    if whole < MINUTE:
        return _("%(n)s s ago", n=whole)
    if whole < HOUR:
        return _("%(n)s min ago", n=whole // MINUTE)
    if whole < DAY:
        return _("%(n)s h ago", n=whole // HOUR)
    return ngettext("%(num)s day ago", "%(num)s days ago", whole // DAY)


def localized_capped_count(value: int) -> str:
    """A count that was not followed further than 1,000: `1,000+` stands for more."""
    return f"{MAX_AHEAD_COUNTED:,}+" if value > MAX_AHEAD_COUNTED else f"{value:,}"


def localized_number(value: float | None, digits: int | None = None) -> str:
    """18,204 or 0.951; without digits a fraction keeps four significant figures."""
    if value is None:
        return "–"
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else ("∞" if value > 0 else "−∞")
    if digits is not None:
        return f"{value:,.{digits}f}"
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def localized_size(value: int | None) -> str:
    """Bytes in decimal units: 512 B, 2.1 MB, 148 GB."""
    if value is None:
        return "–"
    amount, unit = float(value), "B"
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if amount < 999.5 or unit == "PB":
            break
        amount /= 1000
    return f"{amount:.1f} {unit}" if unit != "B" and amount < 99.95 else f"{amount:.0f} {unit}"


def localized_percent(part: float | None, digits: int = 0) -> str:
    """0.88 → 88 %."""
    return "–" if part is None else f"{part * 100:.{digits}f} %"


def _aware(when: datetime) -> datetime:
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _local(when: datetime) -> datetime:
    return _aware(when).astimezone(installation_zone())


def unbroken_names(text: str) -> Markup:
    """Text as HTML in which object names (job-1042) do not break at their hyphen."""
    return Markup(" ").join(
        Markup('<span class="name">{}</span>').format(word) if "-" in word else Markup.escape(word)
        for word in text.split(" ")
    )


def init_app(app: Flask) -> None:
    """Gives templates `_`, `ngettext`, `request_language()` and the filters."""
    app.jinja_env.add_extension("jinja2.ext.i18n")
    app.jinja_env.install_gettext_translations(_Catalogue(), newstyle=True)  # type: ignore[attr-defined]
    app.jinja_env.globals.update(language=request_language, now_clock=lambda: localized_clock(now()))
    filters: dict[str, Callable[..., str]] = {
        "clock": localized_clock,
        "day": localized_day,
        "moment": localized_datetime,
        "short": localized_short_datetime,
        "duration": localized_duration,
        "ago": localized_age,
        "number": localized_number,
        "counted": localized_capped_count,
        "bytes": localized_size,
        "percent": localized_percent,
    }
    app.jinja_env.filters.update(
        {name: _or_dash(write) for name, write in filters.items()}, names=unbroken_names
    )


def _or_dash(write: Callable[..., str]) -> Callable[..., str]:
    """A fact that a row does not have is "–", as one that is None."""

    @wraps(write)
    def written(value: Any, *arguments: Any, **options: Any) -> str:
        return write(None if isinstance(value, Undefined) else value, *arguments, **options)

    return written
