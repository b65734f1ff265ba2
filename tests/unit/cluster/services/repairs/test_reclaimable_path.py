"""A path is measured and deleted without following links in it."""

from pathlib import Path

from cluster.services.repairs.reclaimable_path import delete_reclaimable_path, tree_size


def make_folder(path: Path) -> Path:
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").write_bytes(b"x" * 100)
    return path


def test_what_was_half_deleted_and_built_again_since_goes_as_well(tmp_path: Path) -> None:
    again, half = make_folder(tmp_path / "training-1"), make_folder(tmp_path / "training-1.gone")
    delete_reclaimable_path(again)
    assert not again.exists() and not half.exists()


def test_the_size_counts_the_contents_of_a_folder_and_no_targets_of_links(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "training-1")
    large = tmp_path / "large"
    large.write_bytes(b"x" * 10_000)
    (folder / "link").symlink_to(large)
    assert 100 < tree_size(folder) < 10_000
    assert tree_size(tmp_path / "missing") == 0


def test_a_link_is_deleted_and_its_target_stays(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "kept")
    link = tmp_path / "training-1"
    link.symlink_to(folder)
    delete_reclaimable_path(link)
    assert not link.is_symlink() and (folder / "bin" / "python").exists()
