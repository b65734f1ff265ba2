"""Confinement features are recorded for the one node whose processes jobs are."""

import pytest

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, LeaseLost, acquire_lease
from cluster.services.nodes.confinement import load_confinement_features, record_confinement_features
from tests.conftest import Clock, RecordingBell
from tests.store.conftest import LASTS

FEATURES = {"cgroups": True, "landlock": 4}


def features_of(cluster: Cluster, node: str) -> object:
    with cluster.store.read() as session:
        return load_confinement_features(session).get(node)


def test_the_newest_record_counts_and_the_same_one_is_no_news(
    cluster: Cluster, held: HeldLease, bell: RecordingBell
) -> None:
    assert features_of(cluster, "gpu01") is None
    assert record_confinement_features(cluster, held, "gpu01", FEATURES)
    assert not record_confinement_features(cluster, held, "gpu01", FEATURES)
    assert (features_of(cluster, "gpu01"), features_of(cluster, "gpu02")) == (FEATURES, None)
    assert record_confinement_features(cluster, held, "gpu02", FEATURES)
    assert (features_of(cluster, "gpu01"), features_of(cluster, "gpu02")) == (None, FEATURES)
    assert bell.rung == [("nodes", 0)] * 2


def test_nothing_is_kept_once_jobs_are_no_processes_of_this_machine(
    cluster: Cluster, held: HeldLease
) -> None:
    assert not record_confinement_features(cluster, held, "gpu01", None)
    record_confinement_features(cluster, held, "gpu01", FEATURES)
    assert record_confinement_features(cluster, held, "gpu01", None)
    assert features_of(cluster, "gpu01") is None


def test_a_scheduler_without_its_lease_records_nothing(
    cluster: Cluster, held: HeldLease, clock: Clock
) -> None:
    clock.move(seconds=11)
    assert acquire_lease(cluster, "scheduler", "two", LASTS)
    with pytest.raises(LeaseLost):
        record_confinement_features(cluster, held, "gpu01", FEATURES)
    assert features_of(cluster, "gpu01") is None
