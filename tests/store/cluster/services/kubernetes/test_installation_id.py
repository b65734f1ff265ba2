"""Each installation has a mark of its own, made once; what was marked before stays its own."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.services.context import Cluster
from cluster.services.kubernetes import installation_id, status
from cluster.services.kubernetes.installation_id import (
    ensure_installation_id,
    legacy_installation_id,
    read_installation_id,
)
from cluster.services.leases import acquire_lease
from cluster.store.engine import Store
from cluster.store.migrate import upgrade_database


def test_a_mark_is_made_once_and_kept(cluster: Cluster) -> None:
    assert read_installation_id(cluster) == ""
    mark = ensure_installation_id(cluster)
    assert len(mark) == 8 and int(mark, 16) >= 0
    assert ensure_installation_id(cluster) == read_installation_id(cluster) == mark


def test_two_installations_with_the_same_storage_have_two_marks(cluster: Cluster, tmp_path: Path) -> None:
    """As where two masters of one cluster leave the path as it is by default."""
    url = f"sqlite:///{tmp_path / 'other.db'}"
    upgrade_database(url)
    other = replace(cluster, store=Store(url))
    assert ensure_installation_id(other) != ensure_installation_id(cluster)
    other.store.close()


def test_an_installation_that_ran_on_kubernetes_before_keeps_what_its_objects_bear(cluster: Cluster) -> None:
    held = acquire_lease(cluster, "scheduler", "me", timedelta(days=30))
    assert held is not None
    status.record_kubernetes_status(cluster, held, KubernetesStatus(cluster.clock()))
    assert ensure_installation_id(cluster) == legacy_installation_id(cluster.settings.storage_dir)
    status.delete_kubernetes_status(cluster, held)
    assert ensure_installation_id(cluster) == legacy_installation_id(cluster.settings.storage_dir)


def test_of_two_schedulers_that_start_at_once_both_have_the_mark_of_one(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster: list[str] = []

    def made_meanwhile(cluster: Cluster) -> str:
        """Between the first question and the answer to it another one has made its own."""
        monkeypatch.undo()
        faster.append(ensure_installation_id(cluster))
        return ""

    monkeypatch.setattr(installation_id, "read_installation_id", made_meanwhile)
    assert ensure_installation_id(cluster) == faster[0]
