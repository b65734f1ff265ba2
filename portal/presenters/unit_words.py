"""The name of this installation's units in the reader's language: GPUs, or CPU slots if no node has a GPU."""

from flask import Flask, g

from cluster import words
from cluster.domain.states import UnitKind
from cluster.store.nodes import offered_unit_kind
from portal.i18n.translate import request_language
from portal.web.request_context import current_cluster


def init_app(app: Flask) -> None:
    app.add_template_global(localized_unit_word, "unit_word")
    app.add_template_global(localized_units, "units")


def installation_unit_kind() -> UnitKind:
    """Read once per request. An installation without nodes has CPU slots."""
    if "unit_kind" not in g:
        with current_cluster().store.read_columns() as connection:
            g.unit_kind = offered_unit_kind(connection)
    kind: UnitKind = g.unit_kind
    return kind


def localized_unit_word(number: int = 2) -> str:
    """`GPUs` or `CPU slots`, for labels and column heads; one form in Korean."""
    return words.unit_word(installation_unit_kind(), request_language(), number)


def localized_units(number: int) -> str:
    """`2 GPUs`, `CPU 슬롯 1개`: for sentences."""
    return words.format_units(number, installation_unit_kind(), request_language())
