"""The files of code: which names are taken, what a new version keeps, and how two versions differ."""

import unicodedata

import pytest

from cluster.domain import code_files
from cluster.domain.code_files import (
    CodeFile,
    check_code_path,
    check_code_size,
    compare_manifests,
    find_wrapping_folder,
    is_ignored,
    plan_code_change,
)
from cluster.domain.errors import Refused
from portal.cli.commands import code as command


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("train.py", "train.py"),
        ("./net//layers/conv.py", "net/layers/conv.py"),
        (unicodedata.normalize("NFD", "모델.py"), "모델.py"),
    ],
)
def test_a_path_is_normalised(given: str, path: str) -> None:
    assert check_code_path(given, unicode_names=True) == path


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../train.py", "file.no_name"),
        ("net/../../train.py", "file.no_name"),
        ("/etc/train.py", "file.absolute"),
        ("", "file.no_name"),
        ("a\\b.py", "file.bad_character"),
        ("two words.py", "file.space"),
        ("모델.py", "file.hangul"),
        ("net\0.py", "file.unseen_character"),
        ("/".join(["a"] * 17), "code.too_deep"),
    ],
)
def test_a_path_that_leads_elsewhere_or_breaks_the_rule_for_names_is_refused(path: str, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        check_code_path(path, unicode_names=False)
    assert (refusal.value.field, refusal.value.code) == ("code", code)


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("train.py", False),
        (".gitignore", False),
        (".git/config", True),
        ("net/__pycache__/conv.cpython-311.pyc", True),
        ("conv.pyc", True),
        ("__MACOSX/._train.py", True),
        ("net/._train.py", True),
        (".DS_Store", True),
    ],
)
def test_caches_and_version_control_are_left_out(path: str, ignored: bool) -> None:
    assert is_ignored(path) is ignored


def test_the_command_leaves_out_the_same_as_the_server() -> None:
    assert command.IGNORED_NAMES == code_files.IGNORED_NAMES
    assert command.IGNORED_ENDINGS == code_files.IGNORED_ENDINGS


@pytest.mark.parametrize(
    ("paths", "archive", "folder"),
    [
        (["net/a.py", "net/b/c.py"], "net.zip", "net"),
        (["repo-main/a.py"], "repo-main.zip", "repo-main"),
        (["src/a.py"], "net.zip", ""),  # It may be how the scripts are called.
        (["net/a.py", "b.py"], "net.zip", ""),
        (["net"], "net.zip", ""),
        ([], "net.zip", ""),
    ],
)
def test_a_folder_that_only_wraps_the_archive_is_taken_away(
    paths: list[str], archive: str, folder: str
) -> None:
    assert find_wrapping_folder(paths, archive) == folder


BEFORE = ("README.md", "net/conv.py", "net/pool.py", "train.py")


@pytest.mark.parametrize(
    ("added", "removed", "kept"),
    [
        (["train.py"], [], ("README.md", "net/conv.py", "net/pool.py")),
        (["new.py"], [], BEFORE),
        ([], ["net"], ("README.md", "train.py")),
        ([], ["net/conv.py"], ("README.md", "net/pool.py", "train.py")),
        (["net/conv.py"], ["net"], ("README.md", "train.py")),
    ],
)
def test_what_is_not_uploaded_again_stays_unless_it_is_removed(
    added: list[str], removed: list[str], kept: tuple[str, ...]
) -> None:
    assert plan_code_change(BEFORE, added, removed).kept == kept


@pytest.mark.parametrize(
    ("added", "removed", "code"),
    [
        (["a.py", "a.py"], [], "code.twice"),
        (["a.py", "a.py/b.py"], [], "code.file_and_folder"),
        (["net"], [], "code.file_and_folder"),
        ([], ["ne"], "code.not_there"),
        ([], list(BEFORE), "code.missing"),
        ([], ["net", "train.py"], "code.no_script"),
        ([f"{number}.py" for number in range(1000)], [], "code.too_many_files"),
    ],
)
def test_a_version_that_could_not_run_is_refused(added: list[str], removed: list[str], code: str) -> None:
    with pytest.raises(Refused) as refusal:
        plan_code_change(BEFORE, added, removed)
    assert refusal.value.code == code


def test_the_size_of_all_files_counts() -> None:
    half = code_files.LARGEST_CODE_BYTES // 2
    assert check_code_size({"a": half, "b": half}) == 2 * half
    with pytest.raises(Refused):
        check_code_size({"a": half, "b": half + 1})


def test_two_versions_differ_by_their_contents() -> None:
    before = [CodeFile("a", 1, "1"), CodeFile("b", 1, "2"), CodeFile("c", 1, "3")]
    after = [CodeFile("b", 1, "2"), CodeFile("c", 1, "4"), CodeFile("d", 1, "5")]
    found = compare_manifests(before, after)
    assert (found.added, found.removed, found.changed) == (("d",), ("a",), ("c",))
