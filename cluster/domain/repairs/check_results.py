"""The input and the result of a check: facts of the installation, and passed or failed with a code."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class CheckResult:
    """One line of a verification. `code` has words in both languages."""

    is_ok: bool
    code: str
    data: dict[str, Any]

    def to_data(self) -> dict[str, Any]:
        return {"is_ok": self.is_ok, "code": self.code, "data": self.data}


@dataclass(frozen=True)
class CheckFacts:
    """The facts of the installation at one moment. Facts that no check needs keep their defaults."""

    newest_backup: Mapping[str, Any] | None = None
    """{name, made_at, restored_at, rows, problem}, times as datetimes or None."""
    services: Mapping[str, datetime | None] | None = None
    """The start time of each service by name. None if it does not run."""
    stuck_operations: int = 0
    leftovers: int = 0
    free_bytes: int = 0
    total_bytes: int = 0
    portal_status: int | None = None
    """The HTTP status of /health. None without an answer."""
    redis_problem: str = ""
    database_problem: str = ""
    """The database's error at the begin of a writing transaction. Empty if it answers."""
    audit_checked_at: datetime | None = None
    audit_entries: int = 0
    audit_code: str = ""
    """The code of what was wrong with the audit at its last check. Empty if it was valid."""
    hosts: Mapping[str, Mapping[str, Any] | None] | None = None
    """The facts of each host, with times by the master's clock. None for a host that could not be reached."""
    heartbeats: Mapping[str, datetime | None] | None = None
    """The time of each host's last report."""
    now: datetime | None = None
    environment_problem: str = ""
    """The defect of the default training environment. Empty if it can be used."""


def passed_on_hosts(facts: CheckFacts, code: str, data: dict[str, Any]) -> CheckResult:
    """The check has passed on all hosts. If no host was probed, the result says so."""
    return CheckResult(True, code, data) if facts.hosts else CheckResult(False, "check.host.none", {})
