"""Hostile archives are refused whole, at their first bad entry (S9, S10)."""

import pytest

from cluster.domain.archives import Entry, EntryKind, Limits, Verdict
from cluster.domain.errors import Refused


def check(*entries: Entry, limits: Limits | None = None, packed: int = 10**9) -> list[str]:
    verdict = Verdict(packed, limits or Limits())
    return [verdict.check(entry) for entry in entries]


def code(*entries: Entry, limits: Limits | None = None, packed: int = 10**9) -> str:
    with pytest.raises(Refused) as refused:
        check(*entries, limits=limits, packed=packed)
    assert refused.value.field == "archive"
    return refused.value.code


FOLDER = EntryKind.FOLDER


def test_a_folder_per_class_passes() -> None:
    entries = [
        Entry("./", FOLDER),
        Entry("digits/", FOLDER, mode=0o2755),
        Entry("digits/0/", FOLDER),
        Entry("digits/0/1.png", size=10, mode=0o644),
        Entry("./digits/1/2.png", size=10),
        Entry("digits/0/", FOLDER),
    ]
    assert check(*entries) == ["", "digits", "digits/0", "digits/0/1.png", "digits/1/2.png", "digits/0"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (Entry("../x"), "archive.outside"),
        (Entry("a/../../x"), "archive.outside"),
        (Entry("a/.."), "archive.outside"),
        (Entry("/etc/passwd"), "archive.absolute"),
        (Entry("C:/x"), "archive.absolute"),
        (Entry("..\\x"), "archive.backslash"),
        (Entry("a\\b"), "archive.backslash"),
        (Entry("x", EntryKind.LINK), "archive.link"),
        (Entry("x", EntryKind.HARD_LINK), "archive.link"),
        (Entry("x", EntryKind.DEVICE), "archive.device"),
        (Entry("x", mode=0o4755), "archive.setuid"),
        (Entry("x", mode=0o2755), "archive.setuid"),
        (Entry("x", is_encrypted=True), "archive.encrypted"),
        (Entry("a b"), "file.space"),
        (Entry("강아지.png"), "file.hangul"),
        (Entry("a\0b"), "file.unseen_character"),
        (Entry("x" * 256), "file.too_long"),
        (Entry("a/" * 33 + "b"), "archive.too_deep"),
    ],
)
def test_an_entry_that_is_never_allowed(entry: Entry, expected: str) -> None:
    assert code(Entry("good.png"), entry) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (Entry("a"), Entry("a"), "archive.twice"),
        (Entry("a"), Entry("./a"), "archive.twice"),
        (Entry("a.png"), Entry("A.png"), "archive.case_twin"),
        (Entry("d/x"), Entry("D/y"), "archive.case_twin"),
        (Entry("a"), Entry("a/b"), "archive.file_and_folder"),
        (Entry("a/b"), Entry("a"), "archive.file_and_folder"),
        (Entry("a", FOLDER), Entry("a"), "archive.file_and_folder"),
        (Entry("a"), Entry("a", FOLDER), "archive.file_and_folder"),
    ],
)
def test_two_entries_that_do_not_go_together(first: Entry, second: Entry, expected: str) -> None:
    assert code(first, second) == expected


def test_limits_of_number_and_bytes() -> None:
    assert code(Entry("a"), Entry("b"), Entry("c"), limits=Limits(files=2)) == "archive.too_many_files"
    big = Limits(total_bytes=100, ratio_from=1000)
    assert code(Entry("a", size=60), Entry("b", size=41), limits=big) == "archive.too_large"


def test_ten_gigabytes_of_zeros_in_ten_megabytes() -> None:
    assert code(Entry("zeros", size=10 * 2**30), packed=10 * 2**20) == "archive.too_dense"
    assert check(Entry("small-zeros", size=2**29), packed=1000) == ["small-zeros"]


def test_an_archive_whose_sizes_lie() -> None:
    verdict = Verdict(1000, Limits(ratio_from=10**6))
    entry = Entry("a", size=10)
    verdict.check(entry)
    verdict.count(entry, 10)
    with pytest.raises(Refused, match="archive.size_lies"):
        verdict.count(entry, 1)


def test_what_is_unpacked_counts_against_the_limits_too() -> None:
    verdict = Verdict(1000, Limits(total_bytes=5))
    with pytest.raises(Refused, match="archive.too_large"):
        verdict.count(Entry("a"), 6)


def test_negative_sizes_gain_nothing() -> None:
    verdict = Verdict(1000, Limits(total_bytes=5))
    verdict.check(Entry("a", size=-100))
    with pytest.raises(Refused):
        verdict.check(Entry("b", size=6))


def test_an_archive_without_files_is_refused() -> None:
    verdict = Verdict(1000)
    verdict.check(Entry("a", FOLDER))
    with pytest.raises(Refused, match="archive.empty"):
        verdict.finish()
    verdict.check(Entry("a/b"))
    assert verdict.finish() == 1


def test_unicode_names_are_a_setting_here_too() -> None:
    assert Verdict(1, unicode_names=True).check(Entry("강아지/1.png")) == "강아지/1.png"


def test_a_long_name_is_cut_where_it_is_shown() -> None:
    with pytest.raises(Refused) as refused:
        check(Entry("\udcff/" + "x" * 300, EntryKind.LINK))
    assert len(refused.value.data["entry"]) == 200
    refused.value.data["entry"].encode()
