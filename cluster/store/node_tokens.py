"""Rows of node tokens: an agent proves with one which node it reports for."""

from datetime import datetime

from sqlalchemy import Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from cluster.store.base import BaseRow


class NodeToken(BaseRow):
    """`gcn_<id>_<secret>`; shown once, only the hash is kept. One living token per node."""

    __tablename__ = "node_tokens"
    __table_args__ = (
        Index(
            "uq_node_tokens_living_name",
            "name",
            unique=True,
            sqlite_where=text("revoked_at IS NULL"),
            postgresql_where=text("revoked_at IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64))
    """The node's name: what an agent says about itself is not asked."""
    has_executor: Mapped[bool] = mapped_column(default=False)
    """Whether jobs can be started there."""
    secret_hash: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
