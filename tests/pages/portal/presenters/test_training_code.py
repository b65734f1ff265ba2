"""Trees, archives and differences of versions, as values."""

import pytest

from cluster.domain.code_files import CodeFile
from cluster.domain.errors import NotFound
from cluster.services.storage import folders
from portal.presenters import training_code
from portal.presenters.training_code import FileDifference, VersionComparison, files_below, list_folder
from tests.builders import a_code_version
from tests.pages.portal.pages_lab import Lab

TREE = [
    CodeFile(path, size, "")
    for path, size in (("a.py", 1), ("net/b.py", 2), ("net/deep/c.py", 3), ("net.py", 4))
]


def test_folders_stand_first_with_what_is_in_them() -> None:
    rows = [(one.name, one.is_folder, one.size, one.files) for one in list_folder(TREE, "")]
    assert rows == [("net", True, 5, 2), ("a.py", False, 1, 1), ("net.py", False, 4, 1)]
    assert [one.path for one in list_folder(TREE, "net")] == ["net/deep", "net/b.py"]
    assert list_folder(TREE, "none") == []


def test_an_archive_of_a_folder_has_paths_of_its_own() -> None:
    assert files_below(TREE, "net") == [("b.py",), ("deep", "c.py")]
    for nothing in ("none", "a.py"):
        with pytest.raises(NotFound):
            files_below(TREE, nothing)


def test_long_files_are_only_said_to_differ(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, lines in ((1, 10), (2, 20)):
        files = [("train.py", b"x\n" * lines), ("short.py", b"%d" % number), ("gone.py", b"1\n")]
        a_code_version(lab.cluster, lab.own_code, files[: 4 - number], number)
    monkeypatch.setattr(training_code, "COMPARED_LINES", 15)
    found = training_code.compare_versions(lab.cluster, lab.own_code, 1, 2)
    assert [(file.path, file.kind, file.lines is None) for file in found.files] == [
        ("gone.py", "removed", False),
        ("short.py", "changed", False),
        ("train.py", "changed", True),
    ]
    monkeypatch.setattr(training_code, "COMPARED_FILES", 1)
    assert training_code.compare_versions(lab.cluster, lab.own_code, 1, 2).left_out == 2


def test_code_of_two_trainings_is_compared_and_a_lost_version_has_no_files(lab: Lab) -> None:
    a_code_version(
        lab.cluster, lab.own_code, [("train.py", b"a\nb\n"), ("weights.bin", b"\xff\0"), ("same.py", b"s\n")]
    )
    a_code_version(
        lab.cluster, lab.private, [("train.py", b"a\nc\n"), ("lib/new.py", b"x\n"), ("same.py", b"s\n")]
    )
    found = training_code.compare_code(lab.cluster, (lab.own_code, 1), (lab.private, 1))
    changed = [line for line in found.lines if line[:1] in "+-" and line[1:2] not in "+-"]
    assert changed == ["+x", "-b", "+c"]
    assert found.uncompared == ["weights.bin"]
    lost = training_code.compare_code(lab.cluster, (lab.own_code, 9), (lab.private, 1))
    assert {file.kind for file in lost.files} == {"added"}


def test_no_link_in_the_storage_is_followed(lab: Lab) -> None:
    for number in (1, 2):
        a_code_version(lab.cluster, lab.own_code, [("train.py", b"%d\n" % number)], number)
    folder = folders.code_folder(lab.cluster.settings, lab.own_code.workspace_id, lab.own_code.id, 2)
    (folder / "train.py").unlink()
    (folder / "train.py").symlink_to("/etc/passwd")
    found = training_code.compare_versions(lab.cluster, lab.own_code, 1, 2)
    assert (found.lines, found.uncompared) == ([], ["train.py"])


def test_a_difference_is_printed_as_diff_does() -> None:
    found = VersionComparison(
        [FileDifference("a", "changed", ["-1", "+2"]), FileDifference("b", "added", None)], 0
    )
    assert training_code.print_comparison(found) == "-1\n+2\nFiles a/b and b/b differ\n"
