"""SQL invariants that every database of this product satisfies; a copy that violates one is refused."""

from sqlalchemy import Connection

from worker.backups.errors import BackupBroken

LIVES = "EXISTS (SELECT 1 FROM attempts WHERE attempts.job_id = jobs.id AND attempts.ended_at IS NULL)"
INVARIANTS = {
    "broken.unit_twice": (
        "SELECT unit_id FROM allocations WHERE ended_at IS NULL GROUP BY unit_id HAVING count(*) > 1"
    ),
    "broken.ended_holds": (
        "SELECT attempts.id FROM allocations JOIN attempts ON attempts.id = allocations.attempt_id"
        " WHERE allocations.ended_at IS NULL AND attempts.ended_at IS NOT NULL"
    ),
    "broken.two_attempts": (
        "SELECT job_id FROM attempts WHERE ended_at IS NULL GROUP BY job_id HAVING count(*) > 1"
    ),
    "broken.no_attempt": (
        f"SELECT id FROM jobs WHERE state IN ('starting', 'running', 'stopping') AND NOT {LIVES}"
    ),
    "broken.attempt_too_many": (
        f"SELECT id FROM jobs WHERE state NOT IN ('starting', 'running', 'stopping') AND {LIVES}"
    ),
    "broken.no_cause": (
        "SELECT id FROM jobs WHERE state IN ('finished', 'failed', 'stopped')"
        " AND (ended_at IS NULL OR end_code IS NULL)"
    ),
}
"""By the code of what is broken then; each asks for the ids of those that break it."""


def check_invariants(connection: Connection) -> None:
    """Raises BackupBroken with the first one that is broken, and where."""
    for code, query in INVARIANTS.items():
        found = connection.exec_driver_sql(f"{query} LIMIT 1").scalar()
        if found is not None:
            raise BackupBroken(code, number=found)
