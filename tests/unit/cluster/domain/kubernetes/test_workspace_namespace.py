"""A workspace has its units in Kubernetes during its term alone."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace, workspace_namespace_of


@dataclass(frozen=True)
class Workspace:
    id: int = 3
    name: str = "vision"
    units: int = 8
    starts_on: date = date(2026, 11, 10)
    ends_on: date = date(2026, 11, 20)
    ended_at: datetime | None = None


@pytest.mark.parametrize(("day", "units", "is_open"), [(9, 0, False), (15, 8, True), (22, 0, False)])
def test_before_and_after_nothing_is_admitted(day: int, units: int, is_open: bool) -> None:
    now = datetime(2026, 11, day, 3, 0, tzinfo=UTC)
    namespace = workspace_namespace_of(Workspace(), now, ZoneInfo("Asia/Seoul"))
    assert namespace == WorkspaceNamespace(3, "vision", units, is_open)
