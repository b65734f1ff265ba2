"""What this installation calls its units: GPUs, or CPU slots where there is no GPU."""

from flask import Flask, g
from sqlalchemy import select

from cluster import words
from cluster.domain.states import UnitKind, UnitState
from cluster.store.nodes import Unit
from portal.current import current_cluster
from portal.i18n import language


def init_app(app: Flask) -> None:
    app.add_template_global(unit_word)
    app.add_template_global(units)


def unit_kind() -> UnitKind:
    """Read once per request. Before any node was seen it is the humble one: nothing pretends to be a GPU."""
    if "unit_kind" not in g:
        has_gpu = select(Unit.id).where(Unit.kind == UnitKind.GPU, Unit.state != UnitState.GONE).limit(1)
        with current_cluster().store.read() as session:
            g.unit_kind = UnitKind.GPU if session.scalar(has_gpu) is not None else UnitKind.CPU_SLOT
    kind: UnitKind = g.unit_kind
    return kind


def unit_word() -> str:
    """`GPU` or `CPU slot`, for labels and column heads."""
    return words.unit_word(unit_kind(), language())


def units(number: int) -> str:
    """`2 GPUs`, `CPU 슬롯 1개`: for sentences."""
    return words.units(number, unit_kind(), language())
