"""Addresses name rows by their ids; a number that no row can have is no address."""

from flask import Flask
from werkzeug.routing import IntegerConverter

from cluster.store.base import LARGEST_ID

LONGEST_ID = len(str(LARGEST_ID))


class RowIdConverter(IntegerConverter):
    """`<int:…>` of a rule. What the database could not even compare is the largest id, which is nobody's: refused by
    the router, it would be a wrong method where two routes share a path.
    """

    def to_python(self, value: str) -> int:
        return min(int(value), LARGEST_ID) if len(value) <= LONGEST_ID else LARGEST_ID


def init_app(app: Flask) -> None:
    """Must be called before any rule is added."""
    app.url_map.converters["int"] = RowIdConverter
