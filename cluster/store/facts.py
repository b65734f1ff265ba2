"""Facts about the installation, with one row each."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sqlalchemy import String, bindparam, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from cluster.store.base import BaseRow
from cluster.store.engine import KEPT_VALUES

Parsed = TypeVar("Parsed")


class InstallationFact(BaseRow):
    """A value of the installation as a whole: `schema_version`, `first_training`, `time_zone`."""

    __tablename__ = "installation_facts"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[dict[str, Any]]


FACT = select(InstallationFact.value).where(InstallationFact.name == bindparam("name"))


def read_fact(session: Session, name: str, parse: Callable[[Mapping[str, Any]], Parsed]) -> Parsed | None:
    """The fact's value, parsed; None if there is none. A page that asks several times reads and parses it once.

    `parse` is always the same for one name, and nobody changes what it returns.
    """
    kept: dict[str, Parsed | None] = session.info.get(KEPT_VALUES, {})
    if name not in kept:
        value = session.scalar(FACT, {"name": name})
        kept[name] = None if value is None else parse(value)
    return kept[name]
