"""A reason to wait and what is known of the start as rows keep them: a code and plain data.

The sentence is made when it is read.
"""

from dataclasses import fields
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from cluster.domain.outlook import NOTHING_KNOWN, Outlook, Source
from cluster.domain.reasons import REASONS, Reason
from cluster.domain.states import UnitKind


def to_data(reason: Reason, outlook: Outlook = NOTHING_KNOWN) -> dict[str, Any]:
    """What the row keeps beside the code: plain JSON, times as ISO text, nothing that is not known."""
    # Both are flat, so that their own dictionaries do; asdict() would copy each value deeply, for every row.
    known = {key: value for key, value in vars(outlook).items() if value not in (None, 0, False)}
    return {key: _plain(value) for key, value in (vars(reason) | known).items() if value is not None}


def read_reason(code: str, data: dict[str, Any]) -> Reason | None:
    """The reason that `to_data` wrote; None for a code or data that this version does not know."""
    kind = REASONS.get(code)
    if kind is None:
        return None
    try:
        return kind(**_typed(kind, data))
    except (TypeError, ValueError):
        return None


def read_outlook(data: dict[str, Any]) -> Outlook:
    try:
        return Outlook(**_typed(Outlook, data))
    except (TypeError, ValueError):
        return NOTHING_KNOWN


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return value.isoformat() if isinstance(value, date) else value


def _typed(kind: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    known = {}
    for field in fields(kind):
        value = data.get(field.name)
        if value is None:
            continue
        if field.name == "kind":
            value = UnitKind(value)
        elif field.name == "source":
            value = Source(value)
        elif field.name in ("since", "starts_at", "earliest_at", "latest_at"):
            value = datetime.fromisoformat(value)
        elif field.name in ("starts_on", "ended_on"):
            value = date.fromisoformat(value)
        known[field.name] = value
    return known
