"""Facts about the installation, one row each."""

from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from cluster.store.base import BaseRow


class InstallationFact(BaseRow):
    """A value of the installation as a whole: `schema_version`, `first_training`, `time_zone`."""

    __tablename__ = "installation_facts"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[dict[str, Any]]
