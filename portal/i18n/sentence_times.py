"""Marks the times in a finished sentence as <time>, so that translators keep whole sentences."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from flask import Flask
from markupsafe import Markup, escape

from cluster import words
from portal.i18n.translate import TIME, localized_datetime, localized_short_datetime

MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*")
DEEPEST = 4
"""Sentences nest other sentences' data; more levels than these are not read."""


def init_app(app: Flask) -> None:
    app.add_template_global(with_times)


def with_times(sentence: str, data: Mapping[str, Any] | None) -> Markup:
    """The sentence as HTML. Each time of `data` that is a word of its own in it becomes a <time> with its moment."""
    moments = {localized_short_datetime(moment): moment for moment in list_moments(data)}
    text = escape(sentence)
    if not moments:
        return text
    words_of_times = "|".join(re.escape(shown) for shown in sorted(moments, key=len, reverse=True))

    def mark(found: re.Match[str]) -> str:
        moment = moments[found[0]]
        return TIME % (moment.isoformat(), localized_datetime(moment), found[0])

    # A Korean particle may follow without a space, digits and hyphens make another word of it.
    return Markup(re.sub(rf"(?<![\w:-])(?:{words_of_times})(?![\d:-])", mark, str(text)))


def list_moments(value: Any, depth: int = 0) -> Iterator[datetime]:
    """Yields all moments in a sentence's data, however deeply they are nested."""
    if isinstance(value, datetime):
        yield value
    elif isinstance(value, str):
        if MOMENT.fullmatch(value):
            try:
                yield words.parse_moment(value)
            except ValueError:
                return
    elif depth < DEEPEST:
        parts = (
            value.values()
            if isinstance(value, Mapping)
            else value
            if isinstance(value, (list, tuple))
            else ()
        )
        for part in parts:
            yield from list_moments(part, depth + 1)
