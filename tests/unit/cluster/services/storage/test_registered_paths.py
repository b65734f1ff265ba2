"""What is registered as a dataset lies beneath the roots, and never in the installation."""

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.domain.errors import Refused
from cluster.services.context import Cluster
from cluster.services.storage.registered_paths import check_path_at_start, check_registered_path


def test_a_path_of_the_installation_is_no_dataset(light_cluster: Cluster, tmp_path: Path) -> None:
    """Beneath our own folders lie other workspaces' files, and above them, too."""
    state = tmp_path / "srv" / "groundcrew"
    settings = replace(
        light_cluster.settings,
        dataset_roots=(tmp_path / "srv",),
        state_dir=state,
        cache_dir=tmp_path / "srv" / "cache",
        backups_dir=tmp_path / "srv" / "backups",
    )
    for folder in (
        state / "storage" / "workspaces",
        settings.cache_dir,
        settings.backups,
        tmp_path / "srv" / "data",
    ):
        folder.mkdir(parents=True)
    (tmp_path / "srv" / "link").symlink_to(state)
    for path in ("", "groundcrew", "groundcrew/storage/workspaces", "cache", "backups", "link/storage"):
        with pytest.raises(Refused) as refusal:
            check_registered_path(settings, f"{tmp_path}/srv/{path}")
        assert refusal.value.code == "dataset.path_is_ours", path
    assert check_registered_path(settings, f"{tmp_path}/srv/data") == tmp_path / "srv" / "data"


def test_a_registered_path_that_became_a_link_is_refused_at_the_start(
    light_cluster: Cluster, tmp_path: Path
) -> None:
    settings = replace(
        light_cluster.settings, dataset_roots=(tmp_path / "srv",), state_dir=tmp_path / "state"
    )
    path = tmp_path / "srv" / "lab" / "cells"
    path.mkdir(parents=True)
    for none_or_good in (None, "", str(path)):
        check_path_at_start(settings, none_or_good)
    path.rmdir()
    check_path_at_start(settings, str(path))  # A program says best that its data is gone.
    for target, code in (
        (tmp_path / "srv", "leads_elsewhere"),
        (tmp_path, "outside_roots"),
        (tmp_path / "state", "outside_roots"),
    ):
        path.parent.rename(tmp_path / "srv" / f"lab-{code}-{target.name}")
        path.parent.symlink_to(target)
        with pytest.raises(Refused) as refusal:
            check_path_at_start(settings, str(path))
        assert refusal.value.code == f"dataset.path_{code}"
        path.parent.unlink()
        path.mkdir(parents=True)
