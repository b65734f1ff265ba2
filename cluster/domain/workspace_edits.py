"""Merge the edit of one person with what others have changed meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class FieldChange:
    """`before` is what the person saw, `after` what is stored now; `by` changed the field last."""

    field: str
    before: Any
    after: Any
    by: str
    at: datetime


def combine_changes(edits: Sequence[tuple[str, datetime, Mapping[str, Sequence[Any]]]]) -> list[FieldChange]:
    """One change per field of several edits (name, moment, {field: [before, after]}), the oldest edit first."""
    combined: dict[str, FieldChange] = {}
    for by, at, fields in edits:
        for field, (before, after) in fields.items():
            first = combined[field].before if field in combined else before
            combined[field] = FieldChange(field, first, after, by, at)
    return [change for change in combined.values() if change.before != change.after]


def merge_edit(typed: Mapping[str, Any], changes: Sequence[FieldChange]) -> dict[str, Any]:
    """The typed values; a field that the person left as it was takes what others have stored."""
    untouched = {change.field: change.after for change in changes if typed.get(change.field) == change.before}
    return {**typed, **untouched}
