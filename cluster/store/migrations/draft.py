"""Drafts the next migration from the difference between rows and migrations, for a developer to read."""

import sys
import tempfile
from pathlib import Path

from alembic import command

from cluster.store.migrate import alembic_config, head_revision, open_for_migration, upgrade_database


def draft(message: str, revision: str) -> Path:
    """Writes versions/<revision>_<message>.py. The author has to add triggers and check constraints."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/draft.db"
        upgrade_database(url)
        engine = open_for_migration(url)
        with engine.connect() as connection:
            script = command.revision(alembic_config(connection), message, autogenerate=True, rev_id=revision)
        engine.dispose()
    assert script is not None and not isinstance(script, list)
    return Path(script.path)


def next_revision() -> str:
    return f"{int(head_revision()) + 1:04}"


if __name__ == "__main__":
    draft(sys.argv[1], next_revision())
