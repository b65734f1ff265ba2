"""The input and the result of a check: facts of the installation, and passed or failed with a code."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class CheckResult:
    """One line of a verification; `code` has words in both languages."""

    is_ok: bool
    code: str
    data: dict[str, Any]

    def to_data(self) -> dict[str, Any]:
        return {"is_ok": self.is_ok, "code": self.code, "data": self.data}


@dataclass(frozen=True)
class CheckFacts:
    """What was read of the installation at one moment; what no check asked for is left at its default."""

    newest_backup: Mapping[str, Any] | None = None
    """{name, made_at, restored_at, rows, problem}, times as datetimes or None."""
    services: Mapping[str, datetime | None] | None = None
    """Name: running since; None where it does not run."""
    stuck_operations: int = 0
    leftovers: int = 0
    free_bytes: int = 0
    total_bytes: int = 0
    portal_status: int | None = None
    """What /health answered; None: nothing."""
    redis_problem: str = ""
    database_problem: str = ""
    """What the database said instead of beginning a transaction that may write; empty where it answers."""
    audit_checked_at: datetime | None = None
    audit_entries: int = 0
    audit_code: str = ""
    """What was wrong with the audit at its last check; empty where it was whole."""
    hosts: Mapping[str, Mapping[str, Any] | None] | None = None
    """What was seen on each host, moments by the master's clock; None for one that could not be reached."""
    heartbeats: Mapping[str, datetime | None] | None = None
    """When each of the hosts last reported."""
    now: datetime | None = None
    environment_problem: str = ""
    """Why the default training environment is of no use; empty where it stands."""


def passed_on_hosts(facts: CheckFacts, code: str, data: dict[str, Any]) -> CheckResult:
    """Nothing is wrong on any host; where none was looked at, that is what is said."""
    return CheckResult(True, code, data) if facts.hosts else CheckResult(False, "check.host.none", {})
