"""Every reason to wait, and what a row keeps of it: plain values, and nothing that is not known."""

import json
from datetime import UTC, date, datetime
from typing import get_args

import pytest

from cluster.domain import reasons
from cluster.domain.outlook import Outlook, Source
from cluster.domain.reasons import Reason
from cluster.domain.states import UnitKind
from cluster.domain.waiting import to_data

AT = datetime(2026, 11, 20, 5, 38, tzinfo=UTC)
REASONS: list[Reason] = [
    reasons.NotEnoughUnits(4, 3, "gpu08", UnitKind.GPU, 16),
    reasons.NotEnoughTogether(16, 9, 4, UnitKind.GPU),
    reasons.ClusterTooSmall(64, 32, 4, UnitKind.GPU),
    reasons.QuotaTooSmall(2, 4, UnitKind.GPU),
    reasons.NodesTooSmall(4, 3, "gpu08", UnitKind.GPU),
    reasons.QuotaUsed(8, 8, 2, UnitKind.CPU_SLOT),
    reasons.AheadInQueue(3, 1055),
    reasons.HeldForAnother(1055, "gpu08"),
    reasons.WorkspaceNotStarted("speech", date(2026, 12, 1)),
    reasons.WorkspaceExpired("speech", date(2026, 11, 1)),
    reasons.EnvironmentNotReady("default", 0.25, "environment.compile", 3),
    reasons.EnvironmentFailed("default", 3),
    reasons.NoGpuEnvironment("default"),
    reasons.DatasetNotReady("digits", 0.5),
    reasons.DatasetFailed("digits"),
    reasons.DiskShort("/data", 3 << 28, 1 << 30, [[1055, 5 << 30]]),
    reasons.NodeUnreachable("gpu08", AT),
    reasons.NodeLost("gpu08", AT),
    reasons.NodeDraining("gpu08", AT),
    reasons.NodeKeptOut("gpu08", {"code": "kubernetes.closed", "data": {"node": "gpu08"}}),
    reasons.OnHold("kim", AT),
    reasons.SweepLimit(3, 4),
    reasons.NoExecutor("gpu08"),
    reasons.NoNodes(),
    reasons.Interrupted("interrupted.node_rebooted", 2),
    reasons.TriedLater("interrupted.node_rebooted", 5, "gpu08", 4, 4, AT),
    reasons.TriedAgain("exit.error", 2, 1, 3),
    reasons.JustSubmitted(),
]


def test_the_table_has_every_reason() -> None:
    assert {type(reason) for reason in REASONS} == set(get_args(Reason)) == set(reasons.REASONS.values())


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.code)
def test_a_row_keeps_all_of_a_reason_as_plain_values(reason: Reason) -> None:
    outlook = Outlook(
        ahead=1000,
        first_ahead=1054,
        freed_by=1055,
        starts_at=AT,
        earliest_at=AT,
        latest_at=AT,
        source=Source.HISTORY,
        starts_on_node="gpu08",
        helps_units=3,
        helps_seconds=600,
        is_more_ahead=True,
    )
    data = to_data(reason, outlook)
    assert json.loads(json.dumps(data)) == data and None not in data.values()
    known = {name for name, value in vars(reason).items() if value is not None}
    assert set(data) == known | set(vars(outlook))


def test_nothing_unknown_is_written_down() -> None:
    assert to_data(reasons.NoNodes()) == {"needed": 1}
    assert to_data(reasons.NodeUnreachable("gpu08")) == {"node": "gpu08"}
