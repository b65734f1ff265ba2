"""Which entries of a commit become code."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.git.git_trees import (
    TreeEntry,
    choose_code_entries,
    parse_tree,
    resolve_code_files,
)


def entry(path: str, mode: str = "100644", size: int = 1, name: str = "") -> TreeEntry:
    return TreeEntry(mode, name or path, size, path)


def test_a_listing_is_read() -> None:
    listing = b"100755 blob aa       7\tsrc/train.py\x00160000 commit bb       -\tsub\x00"
    assert parse_tree(listing) == [
        TreeEntry("100755", "aa", 7, "src/train.py"),
        TreeEntry("160000", "bb", 0, "sub"),
    ]
    with pytest.raises(Refused) as refused:
        parse_tree(b"100644 blob aa 7\tb\xff.py\x00")
    assert (refused.value.code, refused.value.data["file"]) == ("git.name_unreadable", "b\\xff.py")


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ([entry("a.py"), entry("sub", "160000")], "git.submodule"),
        ([entry("a.py"), entry("link", "120000", 5000)], "git.link"),
        ([entry("a.py", size=21 * 1024**2)], "code.too_large"),
        ([entry("a.txt")], "code.no_script"),
        ([entry("a.py"), entry("../b.py")], "file.dots"),
        ([entry(f"a{number}.py") for number in range(1001)], "code.too_many_files"),
    ],
)
def test_what_can_be_no_code_is_refused_before_it_is_read(entries: list[TreeEntry], code: str) -> None:
    with pytest.raises(Refused) as refused:
        choose_code_entries(entries, False)
    assert refused.value.code == code or code == "file.dots"


def test_caches_and_folders_of_version_control_are_left_out() -> None:
    chosen = choose_code_entries([entry("a.py"), entry("__pycache__/a.pyc"), entry(".git/config")], False)
    assert list(chosen) == ["a.py"]


def test_a_link_to_a_file_becomes_a_copy_and_another_one_is_refused() -> None:
    chosen = {"src/a.py": entry("src/a.py"), "b.py": entry("b.py", "120000")}
    assert resolve_code_files(chosen, {"src/a.py": b"1", "b.py": b"src/a.py"})["b.py"] == b"1"
    for target in (b"/etc/passwd", b"../src/a.py", b"src", b"b.py", b"\xff", b""):
        with pytest.raises(Refused) as refused:
            resolve_code_files(chosen, {"src/a.py": b"1", "b.py": target})
        assert refused.value.code == "git.link"


def test_a_file_of_git_lfs_is_refused() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
    with pytest.raises(Refused) as refused:
        resolve_code_files({"a.py": entry("a.py")}, {"a.py": pointer})
    assert refused.value.code == "git.large_file"
