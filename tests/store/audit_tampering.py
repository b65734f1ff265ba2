"""Changes the audit as somebody to whom the database refuses nothing would."""

from contextlib import closing

from sqlalchemy import text

from cluster.store.engine import Store
from tests.databases import superuser_url


def tamper(store: Store, *statements: str) -> None:
    """Triggers off first."""
    with closing(Store(superuser_url(store.address))) as unrefused, unrefused.write() as session:
        if store.is_sqlite:
            for table in ("audit_entries", "audit_seals"):
                for kind in ("update", "delete", "replace"):
                    session.execute(text(f"DROP TRIGGER IF EXISTS {table}_no_{kind}"))
        else:
            session.execute(text("SET LOCAL session_replication_role = replica"))
        for statement in statements:
            session.execute(text(statement))
