"""What every part of the API shares: its prefix, the documented errors, reasons as sentences."""

from typing import Any

from flask_smorest import Blueprint

from cluster import words
from portal.i18n import language


class ApiBlueprint(Blueprint):  # type: ignore[misc]
    """`api_jobs` answers under /api/v1/jobs."""

    def __init__(self, name: str, description: str) -> None:
        super().__init__(f"api_{name}", __name__, description=description)
        self.url_name = name


def sentence(code: str | None, data: dict[str, Any] | None) -> dict[str, Any] | None:
    """A typed reason with its sentence in the caller's language; None for none."""
    if code is None:
        return None
    return {"code": code, "data": data or {}, "sentence": words.say(code, data or {}, language())}


def named(row: Any) -> dict[str, Any] | None:
    return {"id": row.id, "name": row.name} if row is not None else None
