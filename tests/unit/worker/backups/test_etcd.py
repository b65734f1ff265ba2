"""etcd's snapshot among the backups: taken, proved by an etcd that comes up on it, thinned out; etcd is a stand-in."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.domain.errors import Unavailable
from cluster.services.backups.etcd_manifests import EtcdBackup, read_etcd_backups
from cluster.services.context import Cluster
from cluster.settings import Settings
from worker.backups import offsite_copies, retention
from worker.backups.etcd import back_up_etcd_snapshot

PROGRAMS = {
    "etcdutl": 'mkdir -p data; grep -q whole "$3" || { echo "snapshot file is broken" >&2; exit 1; }',
    "etcd": "exec sleep 60",
    "etcdctl": """case "$*" in
  *"endpoint health"*) ;;
  *"--write-out fields"*kube-system*) printf '"Revision" : 42\\n"More" : false\\n"Count" : 1\\n' ;;
  *"--write-out fields"*) printf '"Revision" : 42\\n"More" : false\\n"Count" : 7\\n' ;;
  *) exit 1 ;;
esac""",
}


@pytest.fixture
def here(light_cluster: Cluster, tmp_path: Path) -> Settings:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, body in PROGRAMS.items():
        script = programs / f"{name}-3.6.5-0"
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)
    (tmp_path / "snapshots").mkdir()
    return replace(light_cluster.settings, etcd_snapshots=tmp_path / "snapshots")


@pytest.fixture
def write(here: Settings, light_cluster: Cluster) -> Callable[..., Path]:
    """As the role's own program leaves a snapshot."""

    def wrote(content: str = "whole", revision: int = 42, days_ago: float = 0.0) -> Path:
        assert here.etcd_snapshots is not None
        at = light_cluster.clock() - timedelta(days=days_ago)
        file = here.etcd_snapshots / f"etcd-{at:%Y%m%dT%H%M%SZ}.db"
        file.write_text(content)
        programs = str(here.etcd_snapshots.parent / "programs")
        told = {"version": "3.6.5-0", "programs": programs, "status": {"revision": revision}}
        file.with_name(f"{file.name}.json").write_text(json.dumps(told))
        return file

    return wrote


def kept(settings: Settings) -> list[EtcdBackup]:
    return read_etcd_backups(settings.backups)


def test_the_newest_snapshot_is_taken_along_and_an_etcd_comes_up_on_it(
    here: Settings, write: Callable[..., Path], light_cluster: Cluster
) -> None:
    write(days_ago=0.5)
    newest = write()
    made = back_up_etcd_snapshot(here, light_cluster.clock())
    assert kept(here) == [made]
    assert made is not None and made.name == f"{newest.name}.zst"
    assert (made.revision, made.keys, made.problem) == (42, 7, None)
    assert made.restored_at == light_cluster.clock()
    assert [path.name for path in here.backups.glob(".etcd*")] == [], "nothing of the drill is left"
    modes = {path.suffix: path.stat().st_mode & 0o777 for path in here.backups.glob("etcd-*")}
    assert modes == {".zst": 0o600, ".json": 0o640}, "who watches repairs reads what is said of it"


def test_the_same_snapshot_is_proved_again_and_not_taken_twice(
    here: Settings, write: Callable[..., Path], light_cluster: Cluster
) -> None:
    write()
    first = back_up_etcd_snapshot(here, light_cluster.clock())
    light_cluster.clock.move(hours=1)  # type: ignore[attr-defined]
    again = back_up_etcd_snapshot(here, light_cluster.clock())
    assert first is not None and again is not None and kept(here) == [again]
    assert (again.sha256, again.restored_at) == (first.sha256, light_cluster.clock())


@pytest.mark.parametrize(
    ("content", "revision", "code"),
    [("torn", 42, "broken.damaged"), ("whole", 43, "broken.other_revision")],
)
def test_a_snapshot_on_which_no_etcd_comes_up_as_it_was_is_broken(
    here: Settings,
    write: Callable[..., Path],
    light_cluster: Cluster,
    content: str,
    revision: int,
    code: str,
) -> None:
    write(content, revision)
    with pytest.raises(Unavailable) as refused:
        back_up_etcd_snapshot(here, light_cluster.clock())
    assert refused.value.code == "backup.broken"
    (broken,) = kept(here)
    assert broken.problem is not None and broken.problem.code == code and broken.restored_at is None


@pytest.mark.parametrize(("count", "is_there"), [(0, True), (1, False)])
def test_no_snapshot_and_no_program_are_told(
    here: Settings, write: Callable[..., Path], light_cluster: Cluster, count: int, is_there: bool
) -> None:
    for _ in range(count):
        write()
    if not is_there:
        for program in (here.etcd_snapshots or Path()).parent.glob("programs/etcdutl-*"):
            program.unlink()
    with pytest.raises(Unavailable) as refused:
        back_up_etcd_snapshot(here, light_cluster.clock())
    assert refused.value.code == ("backup.etcd_programs" if count else "backup.no_etcd")


def test_an_old_snapshot_is_kept_and_told(
    here: Settings, write: Callable[..., Path], light_cluster: Cluster
) -> None:
    """Last night none was written, and nobody would know before it is too late."""
    write(days_ago=1.02)
    with pytest.raises(Unavailable) as refused:
        back_up_etcd_snapshot(here, light_cluster.clock())
    assert refused.value.code == "backup.etcd_too_old"
    assert kept(here)[0].restored_at is not None


def test_without_kubernetes_nothing_is_asked_for(light_cluster: Cluster) -> None:
    assert back_up_etcd_snapshot(light_cluster.settings, light_cluster.clock()) is None


def test_nights_are_thinned_out_as_those_of_the_database_are(
    here: Settings, write: Callable[..., Path], light_cluster: Cluster
) -> None:
    for _ in range(10):
        write()
        back_up_etcd_snapshot(here, light_cluster.clock())
        light_cluster.clock.move(days=1)  # type: ignore[attr-defined]
    assert len(kept(here)) in (8, 9)


def test_it_is_copied_elsewhere_and_a_flipped_bit_is_found(
    here: Settings, write: Callable[..., Path], light_cluster: Cluster, tmp_path: Path
) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    here = replace(here, backup_copy=str(place))
    write()
    made = back_up_etcd_snapshot(here, light_cluster.clock())
    assert made is not None
    assert offsite_copies.copy_backups_offsite(here, light_cluster.clock) == [made.name]
    assert {path.name for path in place.iterdir()} == {made.name, f"{made.name}.json"}
    assert offsite_copies.copy_backups_offsite(here, light_cluster.clock) == []
    file = here.backups / made.name
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert retention.mark_damaged(here) == [made.name]
