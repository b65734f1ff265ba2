"""The name of this installation's units in the reader's language: GPUs, or CPU slots if no node has a GPU."""

from flask import Flask, g

from cluster import words
from cluster.domain.states import UnitKind
from cluster.store.nodes import offered_unit_kind
from portal.i18n.translate import request_language
from portal.recent_values import EVERYBODY, recent_values
from portal.web.request_context import current_cluster


def init_app(app: Flask) -> None:
    app.add_template_global(localized_unit_word, "unit_word")
    app.add_template_global(localized_units, "units")


def installation_unit_kind() -> UnitKind:
    """Reads the kind once per request, at most a second old. An installation without nodes has CPU slots."""
    if "unit_kind" not in g:
        g.unit_kind = recent_values().read(EVERYBODY, "unit_kind", read_unit_kind)
    kind: UnitKind = g.unit_kind
    return kind


def read_unit_kind() -> UnitKind:
    with current_cluster().store.read_columns() as connection:
        return offered_unit_kind(connection)


def localized_unit_word(number: int = 2) -> str:
    """`GPUs` or `CPU slots`, for labels and column heads; one form in Korean."""
    return words.unit_word(installation_unit_kind(), request_language(), number)


def localized_units(number: int) -> str:
    """Returns `2 GPUs` or `CPU 슬롯 1개`, for sentences."""
    return words.format_units(number, installation_unit_kind(), request_language())
