"""Old archives go from the cache of images, never one that the site uses."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.unit.worker.images.test_site_images import RECORD, a_site
from worker.environments.build_platform import PYTHON, read_build_platform
from worker.images import __main__ as command
from worker.images import site_images
from worker.images.description import VARIANTS, read_variant
from worker.images.image_record import image_record_path, write_image_record
from worker.images.image_wheels import list_wheel_folders
from worker.images.pruning import VERSIONS_KEPT, prune_images


def an_archive(cache: Path, variant: str, day: int) -> Path:
    """Made on that day, finished."""
    cache.mkdir(exist_ok=True)
    archive = cache / f"groundcrew-default-{variant}-{day:012}.tar"
    archive.write_bytes(b"layers")
    write_image_record(
        archive, replace(RECORD, variant=variant, made_at=RECORD.made_at + timedelta(days=day))
    )
    return archive


def left(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir() if path.name != ".training.lock"}


def test_the_newest_of_each_variant_stay_and_what_is_in_use(tmp_path: Path) -> None:
    assert VERSIONS_KEPT == 2
    cpu = [an_archive(tmp_path, "cpu", day) for day in (5, 1, 3, 4, 2)]
    cuda = an_archive(tmp_path, "cuda", 0)
    in_use = tmp_path / "groundcrew-default-cpu-000000000001.tar"
    gone = prune_images(tmp_path, [in_use], [], lambda *_: None)
    assert [path.stem[-1] for path in gone] == ["2", "3"]
    stay = [cpu[0], cpu[1], cpu[3], cuda]
    assert left(tmp_path) == {each.name for path in stay for each in (path, image_record_path(path))}
    assert prune_images(tmp_path, [in_use], [], lambda *_: None) == []


def test_what_a_killed_build_has_left_goes(tmp_path: Path) -> None:
    whole = an_archive(tmp_path, "cpu", 1)
    image_record_path(an_archive(tmp_path, "cpu", 2)).unlink()
    (tmp_path / ".groundcrew-default-cpu-3.tar.0123abcd.unfinished").touch()
    (tmp_path / "groundcrew-default-cpu-4.building" / "root").mkdir(parents=True)
    assert len(prune_images(tmp_path, [], [], lambda *_: None)) == 3
    assert left(tmp_path) == {whole.name, image_record_path(whole).name}


def test_a_site_prunes_when_it_has_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it needs may be the oldest of all: a release was taken back."""
    site = a_site(tmp_path)
    every = [an_archive(site.cache, "cpu", day) for day in range(1, 5)]
    monkeypatch.setattr(site_images, "image_archive_path", lambda *_: every[0])
    assert command.ensure_site_images(site) == {"changed": True, "deleted": [every[1].name]}
    assert command.ensure_site_images(site) == {"changed": False, "deleted": []}
    assert every[0].exists() and not every[1].exists()


def test_packages_that_no_description_asks_for_any_more_go_also_half_ones(tmp_path: Path) -> None:
    now, before = tmp_path / "wheels-000000000002", tmp_path / "wheels-000000000001"
    for folder in (
        now,
        now.with_name(f"{now.name}.partial"),
        before,
        before.with_name(f"{before.name}.partial"),
    ):
        (folder / "files").mkdir(parents=True)
    assert prune_images(tmp_path, [], [now], lambda *_: None) == [
        before,
        before.with_name(f"{before.name}.partial"),
    ]
    assert left(tmp_path) == {now.name, f"{now.name}.partial"}


def test_a_site_keeps_the_packages_of_every_variant_that_this_version_describes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = a_site(tmp_path)
    monkeypatch.setattr(site_images, "image_archive_path", lambda *_: an_archive(site.cache, "cpu", 1))
    wanted = list_wheel_folders(map(read_variant, VARIANTS), read_build_platform(PYTHON), site.cache)
    assert len(wanted) == len(VARIANTS)
    for folder in (*wanted, site.cache / "wheels-of-before"):
        folder.mkdir(parents=True, exist_ok=True)
    assert command.ensure_site_images(site)["deleted"] == ["wheels-of-before"]
    assert all(folder.exists() for folder in wanted)
