"""Addresses name rows by their ids; a number that no row can have is no address."""

from typing import Any

from flask import Flask
from werkzeug.routing import IntegerConverter, Map

from cluster.store.base import LARGEST_ID


class RowIdConverter(IntegerConverter):
    """`<int:…>` of a rule: what the database could not even compare is 404."""

    def __init__(self, url_map: Map, **options: Any) -> None:
        super().__init__(url_map, max=LARGEST_ID, **options)


def init_app(app: Flask) -> None:
    """Must be called before any rule is added."""
    app.url_map.converters["int"] = RowIdConverter
