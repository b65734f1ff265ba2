"""Parses ids in addresses, so that a number that no row can have leads to "not found"."""

from flask import Flask
from werkzeug.routing import IntegerConverter

from cluster.store.base import LARGEST_ID

LONGEST_ID = len(str(LARGEST_ID))


class RowIdConverter(IntegerConverter):
    """`<int:…>` of a rule. A number that the database cannot compare becomes the largest id, which no row has. If the
    router refused it, the answer would be "method not allowed" if two routes share a path.
    """

    def to_python(self, value: str) -> int:
        return min(int(value), LARGEST_ID) if len(value) <= LONGEST_ID else LARGEST_ID


def init_app(app: Flask) -> None:
    """Must be called before any rule is added."""
    app.url_map.converters["int"] = RowIdConverter
