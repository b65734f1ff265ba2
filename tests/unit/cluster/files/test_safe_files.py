"""File work by descriptors: links lead nowhere, nobody else's things change hands, any tree can be removed."""

import ast
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cluster.files import safe_files
from cluster.files.safe_files import UnsafeFile

IS_ROOT = os.geteuid() == 0
STRANGER = 190_001
only_root = pytest.mark.skipif(not IS_ROOT, reason="only root gives files away")


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "here").mkdir()
    with safe_files.open_folder_path(tmp_path, "here") as descriptor:
        yield descriptor


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """What nothing here may touch."""
    folder = tmp_path / "elsewhere"
    folder.mkdir(mode=0o711)
    (folder / "file").write_text("of somebody else")
    (folder / "file").chmod(0o604)
    return folder


def facts_of(folder: Path) -> list[tuple[str, int, int, int, str]]:
    return [
        (path.name, status.st_uid, status.st_gid, status.st_mode, "" if path.is_dir() else path.read_text())
        for path in (folder, *sorted(folder.rglob("*")))
        if (status := path.lstat())
    ]


def test_it_parses_as_python_3_6() -> None:
    ast.parse(Path(safe_files.__file__).read_text(), feature_version=(3, 6))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../elsewhere", "a\0b"])
def test_a_name_is_one_component(parent: int, name: str) -> None:
    with pytest.raises(UnsafeFile):
        safe_files.open_folder_at(name, parent)
    with pytest.raises(UnsafeFile):
        safe_files.open_plain_at(parent, name)
    with pytest.raises(UnsafeFile):
        safe_files.make_folder(parent, name)
    with pytest.raises(UnsafeFile):
        safe_files.replace_file(parent, name, b"")


def test_a_link_on_the_way_leads_nowhere(tmp_path: Path, elsewhere: Path) -> None:
    (tmp_path / "here").symlink_to(elsewhere)
    with pytest.raises(UnsafeFile), safe_files.open_folder_path(tmp_path, "here"):
        pass
    with pytest.raises(UnsafeFile), safe_files.open_folder_path(tmp_path, "here", "file"):
        pass


def test_a_folder_that_somebody_made_before_is_not_taken_for_ours(parent: int, tmp_path: Path) -> None:
    (tmp_path / "here" / "control").mkdir()
    with pytest.raises(FileExistsError):
        safe_files.make_folder(parent, "control")


@pytest.mark.parametrize("kind", ["link", "file", "pipe"])
def test_what_is_no_folder_is_never_ensured(parent: int, tmp_path: Path, elsewhere: Path, kind: str) -> None:
    place = tmp_path / "here" / "jobs"
    if kind == "link":
        place.symlink_to(elsewhere)
    elif kind == "file":
        place.write_text("")
    else:
        os.mkfifo(place)
    before = facts_of(elsewhere)
    with pytest.raises(UnsafeFile):
        safe_files.ensure_folder(parent, "jobs", 0o777)
    assert facts_of(elsewhere) == before


@pytest.mark.parametrize("kind", ["link", "second name", "pipe", "folder"])
def test_only_a_regular_file_with_one_name_is_opened(
    parent: int, tmp_path: Path, elsewhere: Path, kind: str
) -> None:
    place = tmp_path / "here" / "plan.json"
    if kind == "link":
        place.symlink_to(elsewhere / "file")
    elif kind == "second name":
        place.hardlink_to(elsewhere / "file")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    with pytest.raises(UnsafeFile):
        safe_files.open_plain_at(parent, "plan.json")


def test_a_file_is_replaced_and_not_written_through(parent: int, tmp_path: Path, elsewhere: Path) -> None:
    (tmp_path / "here" / "log").symlink_to(elsewhere / "file")
    before = facts_of(elsewhere)
    safe_files.replace_file(parent, "log", b"ours", 0o640)
    assert facts_of(elsewhere) == before
    assert (tmp_path / "here" / "log").read_bytes() == b"ours"
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["log"]


def a_tree(folder: Path, elsewhere: Path) -> Path:
    """With everything in it that is not to be followed."""
    (folder / "package").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)")
    (folder / "package" / "run.sh").write_text("#!/bin/sh")
    (folder / "package" / "run.sh").chmod(0o755)
    (folder / "link").symlink_to(elsewhere)
    (folder / "package" / "file link").symlink_to(elsewhere / "file")
    (folder / "second name").hardlink_to(elsewhere / "file")
    os.mkfifo(folder / "pipe")
    return folder


def test_a_copy_has_folders_and_plain_files_alone(parent: int, tmp_path: Path, elsewhere: Path) -> None:
    source = a_tree(tmp_path / "code", elsewhere)
    with safe_files.open_folder_path(source) as reading:
        assert safe_files.copy_tree(reading, parent) == 4
    copy = tmp_path / "here"
    assert sorted(str(path.relative_to(copy)) for path in copy.rglob("*")) == [
        "package",
        "package/run.sh",
        "train.py",
    ]
    assert stat.S_IMODE((copy / "package" / "run.sh").stat().st_mode) == 0o700
    assert stat.S_IMODE((copy / "train.py").stat().st_mode) == 0o600


@only_root
@pytest.mark.parametrize("kind", ["ours", "theirs", "link", "second name", "of root", "pipe", "nothing"])
def test_a_file_is_taken_from_a_folder_of_others_by_its_content_alone(
    parent: int, tmp_path: Path, elsewhere: Path, kind: str
) -> None:
    source = tmp_path / "wheels"
    source.mkdir()
    wheel = source / "a.whl"
    if kind == "link":
        wheel.symlink_to(elsewhere / "file")
    elif kind == "second name":
        wheel.hardlink_to(elsewhere / "file")
        os.chown(wheel, STRANGER, 0)
    elif kind == "pipe":
        os.mkfifo(wheel)
    elif kind != "nothing":
        wheel.write_text("a wheel")
    if kind != "ours":
        os.chown(source, STRANGER, 0)
    if kind == "theirs":
        os.chown(wheel, STRANGER, 0)
    with safe_files.open_folder_path(source) as reading:
        is_taken = safe_files.link_or_copy_file(reading, "a.whl", parent, 0o644)
    taken = tmp_path / "here" / "a.whl"
    assert is_taken is taken.exists() is (kind in ("ours", "theirs"))
    if kind == "theirs":
        assert (taken.stat().st_uid, taken.stat().st_nlink, taken.read_text()) == (0, 1, "a wheel")


@pytest.mark.parametrize("act", ["copy", "give"])
def test_a_tree_that_never_ends_is_refused(
    parent: int, tmp_path: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_files, "DEEPEST", 3)
    (tmp_path / "deep" / "a" / "b" / "c" / "d").mkdir(parents=True)
    with safe_files.open_folder_path(tmp_path, "deep") as deep, pytest.raises(UnsafeFile):
        if act == "copy":
            safe_files.copy_tree(deep, parent)
        else:
            safe_files.chown_tree(deep, (-1, -1), 0o750, 0o640)


@only_root
def test_a_tree_is_given_away_without_what_its_links_point_to(tmp_path: Path, elsewhere: Path) -> None:
    tree = a_tree(tmp_path / "here", elsewhere)
    before = facts_of(elsewhere)
    with safe_files.open_folder_path(tmp_path, "here") as descriptor:
        safe_files.chown_tree(descriptor, (STRANGER, STRANGER), 0o2750, 0o640)
    assert facts_of(elsewhere) == before
    for name, mode in (("", 0o2750), ("package", 0o2750), ("train.py", 0o640), ("package/run.sh", 0o640)):
        status = (tree / name).stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (STRANGER, STRANGER, mode)


@only_root
def test_what_belongs_to_others_is_not_given_away(tmp_path: Path) -> None:
    tree = tmp_path / "here"
    (tree / "theirs").mkdir(parents=True)
    for path in (tree / "file", tree / "theirs" / "file"):
        path.write_text("")
    os.chown(tree / "theirs", STRANGER, STRANGER)
    before = facts_of(tree / "theirs")
    with safe_files.open_folder_path(tree) as descriptor:
        safe_files.chown_tree(descriptor, (-1, STRANGER), 0o750, 0o640, of_users=(0,))
    assert facts_of(tree / "theirs") == before
    assert (tree / "file").stat().st_gid == tree.stat().st_gid == STRANGER


@pytest.mark.parametrize("kind", ["nothing", "file", "link", "tree"])
def test_whatever_has_the_name_is_removed(parent: int, tmp_path: Path, elsewhere: Path, kind: str) -> None:
    place = tmp_path / "here" / "doomed"
    if kind == "file":
        place.write_text("")
    elif kind == "link":
        place.symlink_to(elsewhere)
    elif kind == "tree":
        a_tree(place, elsewhere)
        (place / "closed").mkdir(mode=0o000)
    before = facts_of(elsewhere)
    assert safe_files.remove_tree(parent, "doomed") is (kind != "nothing")
    assert not os.path.lexists(place)
    assert facts_of(elsewhere) == before


def test_a_tree_of_any_depth_is_removed_with_few_descriptors(parent: int, tmp_path: Path) -> None:
    current = safe_files.make_folder(parent, "deep")
    for _ in range(5 * safe_files.DEEPEST):
        inner = safe_files.make_folder(current, "d")
        os.close(current)
        current = inner
    os.close(current)
    assert safe_files.remove_tree(parent, "deep")
    assert list((tmp_path / "here").iterdir()) == []


def play_against(act: Callable[[], object], hostile: Callable[[], None], times: int) -> None:
    """The act again and again while a thread does what a hostile owner of the folder would; bounded by `times`."""
    is_over = threading.Event()

    def interfere() -> None:
        while not is_over.is_set():
            try:
                hostile()
            except OSError:
                continue

    thread = threading.Thread(target=interfere)
    thread.start()
    try:
        for _ in range(times):
            act()
    finally:
        is_over.set()
        thread.join()


def test_a_folder_that_becomes_a_link_is_never_emptied_through_it(
    parent: int, tmp_path: Path, elsewhere: Path
) -> None:
    """The old trick against recursive removal: the folder is swapped for a link between the look and the step."""
    place, aside = tmp_path / "here" / "doomed" / "inner", tmp_path / "aside"
    before = facts_of(elsewhere)

    def swap() -> None:
        place.rename(aside)
        place.symlink_to(elsewhere)
        place.unlink()
        aside.rename(place)

    def act() -> None:
        place.mkdir(parents=True, exist_ok=True)
        (place.parent / "file").write_text("")
        try:
            safe_files.remove_tree(parent, "doomed")
        except OSError:
            safe_files.remove_tree(parent, "doomed")

    def tolerant() -> None:
        with suppress(OSError):
            act()

    play_against(tolerant, swap, times=300)
    assert facts_of(elsewhere) == before


@only_root
@pytest.mark.parametrize("what", ["owner", "writable", "sticky", "link"])
def test_a_path_is_roots_own_down_to_its_last_part(tmp_path: Path, what: str) -> None:
    path = tmp_path / "cache" / "images"
    path.mkdir(parents=True)
    assert safe_files.find_replaceable_part(path / "not there yet") is None
    if what == "owner":
        os.chown(path.parent, STRANGER, 0)
    elif what == "link":
        (tmp_path / "theirs").mkdir()
        os.chown(tmp_path / "theirs", STRANGER, 0)
        path.rmdir()
        path.symlink_to("../theirs")
        assert safe_files.find_replaceable_part(path / "more") == str(tmp_path / "theirs")
        return
    else:
        path.parent.chmod(0o777 if what == "writable" else 0o1777)
    assert safe_files.find_replaceable_part(path) == (None if what == "sticky" else str(path.parent))


def test_a_synced_file_is_new_and_its_owners_alone(parent: int, tmp_path: Path) -> None:
    safe_files.create_synced_file(parent, "plan", b"content")
    path = tmp_path / "here" / "plan"
    assert path.read_bytes() == b"content" and path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        safe_files.create_synced_file(parent, "plan", b"other")
    (tmp_path / "here" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        safe_files.create_synced_file(parent, "link", b"other")
    assert path.read_bytes() == b"content" and not (tmp_path / "elsewhere").exists()
