"""Files of earlier versions on servers are listed; files in use and those of strangers stay."""

import os
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from cluster.domain.states import JobState, OperationKind
from cluster.services.context import Cluster
from cluster.services.images.environments import ensure_default_environment
from cluster.services.operations.lifecycle import request_operation
from cluster.services.people.users import service_actor
from cluster.services.repairs.reclaimable_files import (
    LOGS_KEPT_FOR,
    delete_reclaimable_of_run,
    list_reclaimable_paths,
)
from cluster.store.environments import Environment
from tests.builders import (
    a_job,
    a_node,
    a_repair_run,
    a_training,
    a_workspace,
    an_administrator,
    holding,
)

DIGESTS = [str(number) * 12 for number in range(5)]


@dataclass(frozen=True)
class Site:
    """Servers on which version 3 is current; the higher its number, the younger a folder is."""

    cluster: Cluster
    home: Path
    cache: Path

    def place(self, folder: Path, name: str, days: float) -> Path:
        path = folder / name
        (path / "bin").mkdir(parents=True)
        (path / "bin" / "python").write_bytes(b"x" * 100)
        at = (self.cluster.clock() - timedelta(days=days)).timestamp()
        os.utime(path, (at, at))
        return path

    def listed(self) -> dict[str, str]:
        return {leftover.path.name: leftover.code for leftover in list_reclaimable_paths(self.cluster)}


@pytest.fixture
def site(light_cluster: Cluster, tmp_path: Path) -> Site:
    home, cache = tmp_path / "opt", tmp_path / "cache"
    settings = replace(
        light_cluster.settings,
        launcher="systemd",
        ansible_dir=home / "ansible",
        ansible_programs=home / f"ansible-{DIGESTS[3]}" / "bin",
        cache_dir=cache,
    )
    site = Site(replace(light_cluster, settings=settings), home, cache)
    for number, digest in enumerate(DIGESTS[:4]):
        for folder, name in ((home, "0.1.0"), (home, "ansible"), (cache, "training"), (cache, "wheels")):
            site.place(folder, f"{name}-{digest}", 40 - 10 * number)
    (home / "current").symlink_to(home / f"0.1.0-{DIGESTS[3]}")
    (home / "ansible").mkdir()
    use(site, DIGESTS[3])
    return site


def use(site: Site, digest: str) -> None:
    """Its training environment is the default one."""
    path = site.cache / f"training-{digest}"
    ensure_default_environment(site.cluster, service_actor(site.cluster), digest, str(path))


BEFORE = {
    f"{kind}-{digest}": code
    for kind, code in (
        ("0.1.0", "leftover.version"),
        ("ansible", "leftover.ansible"),
        ("training", "leftover.environment"),
        ("wheels", "leftover.packages"),
    )
    for digest in DIGESTS[:2]
}


def test_the_current_one_and_the_newest_other_one_stay(site: Site) -> None:
    assert site.listed() == BEFORE
    assert {leftover.size for leftover in list_reclaimable_paths(site.cluster)} == {100}


def test_a_release_that_was_taken_back_is_in_use_however_old_it_is(site: Site) -> None:
    (site.home / "current").unlink()
    (site.home / "current").symlink_to(site.home / f"0.1.0-{DIGESTS[0]}")
    versions = {name for name, code in site.listed().items() if code == "leftover.version"}
    assert versions == {f"0.1.0-{DIGESTS[1]}", f"0.1.0-{DIGESTS[2]}"}


def test_nothing_is_listed_where_nobody_knows_what_is_in_use(site: Site) -> None:
    (site.home / "current").unlink()
    with site.cluster.store.write() as session:
        session.query(Environment).update({"path": ""})
    assert set(site.listed().values()) == {"leftover.ansible", "leftover.packages"}


def test_the_embedded_set_leaves_the_cache_to_its_neighbours(site: Site) -> None:
    embedded = replace(site.cluster, settings=replace(site.cluster.settings, launcher="detached"))
    assert list_reclaimable_paths(embedded) == []


@pytest.mark.parametrize(("days", "goes"), [(25, False), (15, True)])
def test_an_environment_in_which_a_job_may_still_be_at_work_stays(site: Site, days: int, goes: bool) -> None:
    """The newest other one was built 20 days ago: a job that began before may be at work in an older one."""
    cluster = site.cluster
    job = a_job(cluster, a_training(cluster, a_workspace(cluster)), state=JobState.RUNNING)
    attempt = holding(cluster, job, a_node(cluster, 1).units)
    attempt.created_at = cluster.clock() - timedelta(days=days)
    with cluster.store.write() as session:
        session.merge(attempt)
    assert ("leftover.environment" in site.listed().values()) is goes


def test_what_killed_builds_and_deletions_have_left_goes(site: Site) -> None:
    digest = DIGESTS[4]
    for folder, name, days in (
        (site.cache, f"training-{digest}.building", 2.0),
        (site.cache, f"wheels-{digest}.partial", 0.5),
        (site.home, f"0.1.0-{digest}.gone", 0.0),
    ):
        site.place(folder, name, days)
    assert site.listed() == BEFORE | {
        f"training-{digest}.building": "leftover.unfinished",
        f"0.1.0-{digest}.gone": "leftover.half_gone",
    }


def test_names_that_are_not_ours_and_links_stay(site: Site) -> None:
    for name in ("0.1.0-backup", "training-of-minji", "releases", f"x-wheels-{DIGESTS[0]}"):
        site.place(site.home, name, 400)
        site.place(site.cache, name, 400)
    (site.cache / f"training-{DIGESTS[4]}").symlink_to(site.home)
    assert site.listed() == BEFORE


def test_a_folder_goes_whole_and_a_link_in_it_leads_nowhere(site: Site) -> None:
    cluster = site.cluster
    listed = [leftover.path for leftover in list_reclaimable_paths(cluster)]
    (listed[0] / "bin" / "link").symlink_to(site.home / "current")
    run = a_repair_run(
        cluster,
        an_administrator(cluster),
        "free-disk-space",
        reclaimable_paths=[[str(path), 1] for path in listed],
    )
    assert {leftover.path for leftover in delete_reclaimable_of_run(cluster, run.id)} == set(listed)
    assert site.listed() == {} and not any(path.exists() for path in listed)
    assert (site.home / "current" / "bin" / "python").exists()
    assert len([path for path in site.home.iterdir() if path.name.startswith("0.1.0-")]) == 2


def test_a_deletion_that_is_killed_leaves_nothing_that_looks_whole(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, path = site.cluster, site.cache / f"training-{DIGESTS[0]}"
    run = a_repair_run(
        cluster, an_administrator(cluster), "free-disk-space", reclaimable_paths=[[str(path), 1]]
    )

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("cluster.files.safe_files._TreeRemoval.empty", killed)
        with pytest.raises(KeyboardInterrupt):
            delete_reclaimable_of_run(cluster, run.id)
    assert not path.exists()
    assert site.listed()[f"{path.name}.gone"] == "leftover.half_gone"


def test_the_log_of_an_operation_that_goes_on_is_kept_however_old(site: Site) -> None:
    cluster = site.cluster
    with cluster.store.write() as session:
        opened, ended = (
            request_operation(session, OperationKind.BACKUP, None, service_actor(cluster), cluster.clock())
            for _ in range(2)
        )
        session.flush()
        ended.ended_at = cluster.clock()
        ids = opened.id, ended.id
    folder = cluster.settings.state_dir / "log"
    folder.mkdir(parents=True, exist_ok=True)
    at = (cluster.clock() - LOGS_KEPT_FOR - timedelta(days=1)).timestamp()
    for number in ids:
        (folder / f"operation-{number}.log").write_text("a line")
        os.utime(folder / f"operation-{number}.log", (at, at))
    logs = [name for name, code in site.listed().items() if code == "leftover.log"]
    assert logs == [f"operation-{ids[1]}.log"]
