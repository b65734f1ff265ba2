"""Every reason to wait, and what a row keeps of it: plain values, and nothing that is not known."""

import json
from datetime import UTC, date, datetime
from typing import get_args

import pytest

from cluster.domain.queue import reasons
from cluster.domain.queue.reasons import WaitingReason, to_waiting_data
from cluster.domain.queue.start_estimate import EstimateSource, StartEstimate
from cluster.domain.states import UnitKind

AT = datetime(2026, 11, 20, 5, 38, tzinfo=UTC)
REASONS: list[WaitingReason] = [
    reasons.NotEnoughUnits(4, 3, "gpu08", UnitKind.GPU, 16),
    reasons.NotEnoughUnitsTogether(16, 9, 4, UnitKind.GPU),
    reasons.ClusterTooSmall(64, 32, 4, UnitKind.GPU),
    reasons.QuotaTooSmall(2, 4, UnitKind.GPU),
    reasons.NodesTooSmall(4, 3, "gpu08", UnitKind.GPU),
    reasons.QuotaInUse(8, 8, 2, UnitKind.CPU_SLOT),
    reasons.AheadInQueue(3, 1055),
    reasons.ReservedForAnother(1055, "gpu08"),
    reasons.WorkspaceNotStarted("speech", date(2026, 12, 1)),
    reasons.WorkspaceExpired("speech", date(2026, 11, 1)),
    reasons.WorkspaceStorageFull("speech", 3 << 30, 1 << 30),
    reasons.EnvironmentNotReady("default", 0.25, "environment.compile", 3),
    reasons.EnvironmentFailed("default", 3),
    reasons.NoGpuEnvironment("default"),
    reasons.DatasetNotReady("digits", 0.5),
    reasons.DatasetFailed("digits"),
    reasons.DiskBelowReserve("/data", 3 << 28, 1 << 30, [[1055, 5 << 30]]),
    reasons.OnlyNodesUnreachable("gpu08", AT),
    reasons.OnlyNodesLost("gpu08", AT),
    reasons.OnlyNodesDraining("gpu08", AT),
    reasons.NodeClosedByKubernetes("gpu08", {"code": "kubernetes.closed", "data": {"node": "gpu08"}}),
    reasons.JobOnHold("kim", AT),
    reasons.SweepLimitReached(3, 4),
    reasons.NoExecutor("gpu08"),
    reasons.NoNodes(),
    reasons.AttemptInterrupted("interrupted.node_rebooted", 2),
    reasons.RetryBackoff("interrupted.node_rebooted", 5, "gpu08", 4, 4, AT),
    reasons.RetryAfterFailure("exit.error", 2, 1, 3),
    reasons.NotYetExamined(),
]


def test_the_table_has_every_reason() -> None:
    assert (
        {type(reason) for reason in REASONS} == set(get_args(WaitingReason)) == set(reasons.REASONS.values())
    )


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.code)
def test_a_row_keeps_all_of_a_reason_as_plain_values(reason: WaitingReason) -> None:
    outlook = StartEstimate(
        ahead=1000,
        first_ahead=1054,
        freed_by=1055,
        starts_at=AT,
        earliest_at=AT,
        latest_at=AT,
        source=EstimateSource.HISTORY,
        starts_on_node="gpu08",
        helps_units=3,
        helps_seconds=600,
        is_more_ahead=True,
        kind=UnitKind.GPU,
    )
    data = to_waiting_data(reason, outlook)
    assert json.loads(json.dumps(data)) == data and None not in data.values()
    known = {name for name, value in vars(reason).items() if value is not None}
    assert set(data) == known | set(vars(outlook))


def test_nothing_unknown_is_written_down() -> None:
    assert to_waiting_data(reasons.NoNodes()) == {"needed": 1}
    assert to_waiting_data(reasons.OnlyNodesUnreachable("gpu08")) == {"node": "gpu08"}
