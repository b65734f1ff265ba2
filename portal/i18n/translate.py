"""Chooses the language of a request, translates the portal's messages, and formats values for it by `cluster.words`.

Message ids are English. Korean stands in `translations/ko/<feature>.po`, one file per feature, read when the
application starts: there is no compiled catalogue to forget.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

from flask import Flask, g, has_request_context, request
from jinja2 import Undefined
from markupsafe import Markup

from cluster.services.context import Cluster
from cluster.words import formatting
from cluster.words.translations import Translations, load_translations
from portal.i18n.reader import Reader, note_reader, noted_reader
from portal.i18n.reader_zone import request_zone, request_zone_name
from portal.shared_objects import shared_object

LANGUAGES = ("ko", "en")
LANGUAGE_COOKIE = "gc_language"
PREFERRED_LANGUAGE_KEY = "groundcrew.wished_language"
TRANSLATIONS = Path(__file__).parent.parent / "translations"
MISSING = "–"
"""The text that is shown for a missing value."""
Options = ParamSpec("Options")


@cache
def portal_translations(language: str) -> Translations:
    """The Korean translations; empty for English."""
    return load_translations(TRANSLATIONS, language)


def request_language() -> str:
    """The language of this request: the user's choice, the cookie, the browser's preference, else English."""
    reader = noted_reader()
    if reader is not None:
        return reader.language
    if not has_request_context():
        return "en"
    chosen = g.get("language")
    if chosen in LANGUAGES:
        return str(chosen)
    # The language is kept for all words, because it does not change within a request.
    wished: str = request.environ.get(PREFERRED_LANGUAGE_KEY) or request.environ.setdefault(
        PREFERRED_LANGUAGE_KEY, preferred_language()
    )
    return wished


def note_request_reader() -> None:
    """Notes language and zone of the request's reader. They are known once the request is let in."""
    note_reader(Reader(request_language(), request_zone()))


def language_and_zone() -> tuple[str, str]:
    """The language and the zone on which all texts of a page depend."""
    return request_language(), request_zone().key


def preferred_language() -> str:
    """The language that the cookie or, failing that, the browser asks for."""
    chosen = request.cookies.get(LANGUAGE_COOKIE)
    if chosen in LANGUAGES:
        return str(chosen)
    return request.accept_languages.best_match(("en", "ko")) or "en"


def gettext(message: str, /, **values: Any) -> str:
    """The message in the request's language, with %(name)s filled in."""
    text: str = portal_translations(request_language()).gettext(message)
    return text % values if values else text


def ngettext(one: str, many: str, number: int, /, **values: Any) -> str:
    """The message for that many; %(num)s is the number. Korean has one form."""
    text: str = portal_translations(request_language()).ngettext(one, many, number)
    return text % {"num": number, **values}


_ = gettext


@cache
def markup_of(language: str, message: str) -> Markup:
    """Messages are our own and contain no foreign HTML, so a template escapes only the values that it fills in."""
    return Markup(portal_translations(language).gettext(message))


def template_gettext(message: str, /, **values: Any) -> Markup:
    """`_("…", name=value)` of a template: `values` are escaped."""
    text = markup_of(request_language(), message)
    return text % values if values else text


def template_ngettext(one: str, many: str, number: int, /, **values: Any) -> Markup:
    """`ngettext("…", "…", number)` of a template: `values` are escaped."""
    text: str = portal_translations(request_language()).ngettext(one, many, number)
    return Markup(text) % {"num": number, **values}


def now() -> datetime:
    """The current time by the installation's clock, aware."""
    return shared_object(Cluster).clock()


def or_missing(write: Callable[Concatenate[Any, Options], str]) -> Callable[Concatenate[Any, Options], str]:
    """Shows a missing value as "–", whether it is None or undefined."""

    @wraps(write)
    def written(value: Any, /, *args: Options.args, **kwargs: Options.kwargs) -> str:
        return MISSING if value is None or isinstance(value, Undefined) else write(value, *args, **kwargs)

    return written


@or_missing
def localized_clock(when: datetime) -> str:
    return formatting.format_clock(when, request_zone())


@or_missing
def localized_datetime(when: datetime) -> str:
    return formatting.format_datetime(when, request_zone())


@or_missing
def localized_short_datetime(when: datetime) -> str:
    return formatting.format_short_datetime(when, request_zone(), now())


@or_missing
def localized_duration(seconds: float) -> str:
    return formatting.format_duration(seconds, request_language())


@or_missing
def localized_age(when: datetime) -> str:
    """The duration from the moment to now."""
    return formatting.format_age((now() - formatting.parse_moment(when)).total_seconds(), request_language())


def as_time(write: Callable[[Any], str]) -> Callable[[Any], Markup | str]:
    """The filter of a template: what `write` says of a moment, as <time> with the moment for programs in it."""

    def time_element(when: Any) -> Markup | str:
        if when is None or isinstance(when, Undefined):
            return MISSING
        moment = formatting.parse_moment(when)
        return TIME % (moment.isoformat(), localized_datetime(moment), write(moment))

    return time_element


TIME = Markup('<time datetime="%s" title="%s">%s</time>')
time_of_clock = as_time(localized_clock)
time_of_datetime = as_time(localized_datetime)
time_of_age = as_time(localized_age)
time_of_short = as_time(localized_short_datetime)

localized_number = or_missing(formatting.format_number)
localized_capped_count = or_missing(formatting.format_capped_count)
localized_size = or_missing(formatting.format_size)
localized_percent = or_missing(formatting.format_percent)


def unbroken_names(text: str) -> Markup:
    """Text as HTML in which object names (job-1042) do not break at their hyphen."""
    return Markup(" ").join(
        Markup('<span class="name">{}</span>').format(word) if "-" in word else Markup.escape(word)
        for word in text.split(" ")
    )


def init_app(app: Flask) -> None:
    """Gives templates `_`, `ngettext`, `request_language()` and the filters."""
    app.jinja_env.globals.update(
        _=template_gettext,
        ngettext=template_ngettext,
        language=request_language,
        time_zone_name=request_zone_name,
        now_clock=lambda: localized_clock(now()),
    )
    app.jinja_env.filters.update(
        clock=time_of_clock,
        moment=time_of_datetime,
        short=time_of_short,
        duration=localized_duration,
        ago=time_of_age,
        number=localized_number,
        counted=localized_capped_count,
        bytes=localized_size,
        percent=localized_percent,
        names=unbroken_names,
    )
