"""Keeps the HTML that a macro makes of a value, so that rows of lists are rendered once and not for each page.

The key is everything that the HTML is made of: template, macro, language, the reader's time zone, the path of the
portal, and the value itself. The kept HTML is therefore never out of date: another value has another key. Such a macro
gets one plain value (`fingerprint`) and reads nothing else: not the request, not the person, no clock, no rows. The
value contains what depends on these: rights as booleans ("may_stop") and ages as words (`shown_age`). A macro that
reads more raises `ReadsMoreThanItsValue`, or jinja2.UndefinedError, the first time that it is rendered.
"""

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields
from datetime import date, datetime
from enum import Enum
from operator import attrgetter
from threading import Lock
from typing import Any, NoReturn

from flask import Flask, current_app, request
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from portal.i18n.translate import language_and_zone, request_language
from portal.rendering.template_environment import TranslatingEnvironment
from portal.shared_objects import share_object, shared_object

KEPT_BYTES = 24 * 1024 * 1024
"""The most bytes that a process keeps, keys included. The most recently used values stay."""
ENTRY_BYTES = 400
"""The approximate bytes of an entry besides its HTML and the texts of its key."""
PLAIN_KINDS = frozenset({str, Markup, int, float, bool, type(None), datetime, date})
PURE_GLOBALS = frozenset(
    {
        *("range", "dict", "namespace", "cycler", "joiner", "Markup"),
        *("_", "ngettext", "language", "word_for", "title_for", "operation_word", "step_word", "action_word"),
        *(
            "state_mark",
            "url_for",
            "static_url",
            "icon_html",
            "render_kept",
            "render_rows",
            "csrf_token",
            "this_address",
        ),
    }
)
"""The functions that a macro may use besides its value. Texts of codes (`sentence_for`) are not among them, because
times in them depend on the clock.
"""
CLOCK_FILTERS = frozenset({"ago", "short"})


class ReadsMoreThanItsValue(RuntimeError):
    """The HTML of a kept macro would depend on something that is not in its key."""


class KeptHtml:
    """The kept HTML of a process, which threads share."""

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self._lock = Lock()
        self._by_key: OrderedDict[Hashable, tuple[Markup, int]] = OrderedDict()

    def get(self, key: Hashable) -> Markup | None:
        with self._lock:
            kept = self._by_key.get(key)
            if kept is None:
                return None
            self._by_key.move_to_end(key)
            return kept[0]

    def put(self, key: Hashable, html: Markup, text_bytes: int) -> None:
        size = sys.getsizeof(html) + text_bytes + ENTRY_BYTES
        with self._lock:
            _, before = self._by_key.pop(key, (html, 0))
            self._by_key[key] = (html, size)
            self.bytes += size - before
            while self.bytes > self.most_bytes:
                _, (_, freed) = self._by_key.popitem(last=False)
                self.bytes -= freed

    def __len__(self) -> int:
        return len(self._by_key)


def init_app(app: Flask) -> None:
    """Gives templates `render_kept` and `render_rows`. The macros' environments are made at the first use."""
    share_object(app, KeptHtml, KeptHtml())
    share_object(app, PureEnvironments, PureEnvironments())
    app.jinja_env.globals.update(render_kept=render_kept, render_rows=render_rows)


def render_kept(template: str, macro: str, value: object) -> Markup:
    """The HTML of `macro(value)` of the template. Raises TypeError if the value is not plain."""
    return render_rows(template, macro, (value,))


def render_rows(template: str, macro: str, values: Iterable[object]) -> Markup:
    """The HTML of `macro(value)` for each value, one after the other, as `{% for %}` would write it."""
    kept, environments = shared_object(KeptHtml), shared_object(PureEnvironments)
    frame = (template, macro, *language_and_zone(), request.script_root)
    render: Callable[[object], Markup] | None = None
    parts: list[Markup] = []
    for value in values:
        key = (frame, fingerprint(value))
        html = kept.get(key)
        if html is None:
            render = render or environments.macro(template, macro)
            html = render(value)
            kept.put(key, html, text_bytes(value))
        parts.append(html)
    return Markup("").join(parts)


def fingerprint(value: Any) -> Hashable:
    """Returns the parts of the value, each with its type: `True` is not 1, markup is not the same text unescaped.

    Plain values are texts, numbers, dates, UTC moments, enums and None, and named tuples, frozen dataclasses and tuples
    of plain values. Raises TypeError for any other value, because a row of the database or a list may change after it
    was rendered.
    """
    kind = type(value)
    if kind in PLAIN_KINDS or isinstance(value, Enum):
        return kind, value
    parts: tuple[Any, ...] = value if isinstance(value, tuple) else field_reader(kind)(value)
    kinds = tuple(map(type, parts))
    if PLAIN_KINDS.issuperset(kinds):
        return kind, kinds, tuple(parts)
    return kind, tuple(map(fingerprint, parts))


def field_reader(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Reads all fields of a frozen dataclass."""
    if kind not in FIELD_READERS:
        parameters = getattr(kind, "__dataclass_params__", None)
        if parameters is None or not parameters.frozen:
            raise TypeError(
                f"{kind.__name__} is not plain: HTML is kept by named tuples and frozen dataclasses"
            )
        names = [field.name for field in fields(kind)]
        one_name = names[0]
        FIELD_READERS[kind] = (
            attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, one_name),)
        )
    return FIELD_READERS[kind]


FIELD_READERS: dict[type[Any], Callable[[Any], tuple[Any, ...]]] = {}


def text_bytes(value: Any) -> int:
    """The approximate bytes of the parts of a plain value."""
    kind = type(value)
    if kind in PLAIN_KINDS or isinstance(value, Enum):
        return sys.getsizeof(value)
    parts = value if isinstance(value, tuple) else field_reader(kind)(value)
    return sum(map(text_bytes, parts), 64)


class PureEnvironments:
    """The environments by language. Their templates can use only what is in the key."""

    def __init__(self) -> None:
        self.by_language: dict[str, Environment] = {}

    def macro(self, template: str, macro: str) -> Callable[[object], Markup]:
        language = request_language()
        if language not in self.by_language:
            self.by_language[language] = self.make(language)
        found: Callable[[object], Markup] = getattr(
            self.by_language[language].get_template(template).module, macro
        )
        return found

    def make(self, language: str) -> Environment:
        every = current_app.jinja_env
        assert isinstance(every, TranslatingEnvironment)
        pure = every.in_language(language).overlay(undefined=StrictUndefined)
        pure.globals = {name: value for name, value in every.globals.items() if name in PURE_GLOBALS}
        pure.filters = {**every.filters, **{name: refuse(name) for name in CLOCK_FILTERS}}
        return pure


def refuse(name: str) -> Callable[..., NoReturn]:
    def read_the_clock(*given: object, **named: object) -> NoReturn:
        raise ReadsMoreThanItsValue(f"the filter {name!r} reads the clock: put the words into the value")

    return read_the_clock
