"""Changes the audit as somebody with the database's own password would."""

from sqlalchemy import text

from cluster.store.engine import Store


def tamper(store: Store, *statements: str) -> None:
    """Triggers off first."""
    with store.write() as session:
        if store.is_sqlite:
            for table in ("audit_entries", "audit_seals"):
                for kind in ("update", "delete", "replace"):
                    session.execute(text(f"DROP TRIGGER {table}_no_{kind}"))
        else:
            session.execute(text("SET LOCAL session_replication_role = replica"))
        for statement in statements:
            session.execute(text(statement))
