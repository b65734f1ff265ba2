"""Differences of two times are seconds on both databases."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, select

from cluster.services.context import Cluster
from cluster.store.leases import Lease
from cluster.store.sql.epoch_seconds import epoch_seconds
from tests.builders import add


@pytest.mark.parametrize("seconds", [0.0, 1.0, 0.25, 86_400.0, 31 * 86_400.0, -3600.5])
def test_a_difference_of_times_is_in_seconds(cluster: Cluster, seconds: float) -> None:
    begin: datetime = cluster.clock()
    for name, at in (("begin", begin), ("end", begin + timedelta(seconds=seconds))):
        add(cluster, Lease(name=name, holder="one", expires_at=at))
    earlier, later = (
        select(epoch_seconds(Lease.expires_at)).where(Lease.name == name).scalar_subquery()
        for name in ("begin", "end")
    )
    with cluster.store.read() as session:
        assert session.scalar(select(later - earlier)) == pytest.approx(seconds, abs=0.0002)


def test_seconds_can_be_summed(cluster: Cluster) -> None:
    begin = cluster.clock()
    for number in (1, 2, 3):
        add(cluster, Lease(name=str(number), holder="one", expires_at=begin + timedelta(seconds=number)))
    first = select(epoch_seconds(func.min(Lease.expires_at))).scalar_subquery()
    with cluster.store.read() as session:
        total = session.scalar(select(func.sum(epoch_seconds(Lease.expires_at) - first)))
    assert float(total or 0) == pytest.approx(3.0, abs=0.0006)
