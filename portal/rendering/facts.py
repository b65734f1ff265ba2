"""Marks values in pages with the fact of which each is the value: `data-fact="job:12:state"`.

A test opens all pages and fails if two of them show different values of one fact. The value is the text of the marked
element, the moment of a `<time>` in it, or its `data-value` if it is a part of a sentence.
"""

from flask import Flask
from markupsafe import Markup, escape


def fact(value: object, *key: object) -> Markup:
    """`{{ job.units|fact("job", job.id, "units") }}`, for a value without an element of its own."""
    return Markup('<span data-fact="{}">{}</span>').format(":".join(map(str, key)), value)


def fact_in_sentence(sentence: object, value: object, *key: object) -> Markup:
    """`sentence` says the value in words; if it is markup, as for a moment, only its text is kept beside the mark."""
    value = escape(escape(value).striptags())
    mark = Markup('<span data-fact="{}" data-value="{}">{}</span>')
    return mark.format(":".join(map(str, key)), value, sentence)


def init_app(app: Flask) -> None:
    app.jinja_env.filters.update(fact=fact, fact_in_sentence=fact_in_sentence)
