"""Hostile archives are refused whole, at their first bad entry (S9, S10)."""

import unicodedata

import pytest

from cluster.domain.errors import Refused
from cluster.domain.storage.upload_archives import (
    ArchiveChecker,
    ArchiveEntry,
    ArchiveEntryKind,
    ArchiveLimits,
)


def check(*entries: ArchiveEntry, limits: ArchiveLimits | None = None, packed: int = 10**9) -> list[str]:
    verdict = ArchiveChecker(packed, limits or ArchiveLimits())
    return [verdict.check(entry) for entry in entries]


def code(*entries: ArchiveEntry, limits: ArchiveLimits | None = None, packed: int = 10**9) -> str:
    with pytest.raises(Refused) as refused:
        check(*entries, limits=limits, packed=packed)
    assert refused.value.field == "archive"
    return refused.value.code


FOLDER = ArchiveEntryKind.FOLDER


def test_a_folder_per_class_passes() -> None:
    entries = [
        ArchiveEntry("./", FOLDER),
        ArchiveEntry("digits/", FOLDER, mode=0o2755),
        ArchiveEntry("digits/0/", FOLDER),
        ArchiveEntry("digits/0/1.png", size=10, mode=0o644),
        ArchiveEntry("./digits/1/2.png", size=10),
        ArchiveEntry("digits/0/", FOLDER),
    ]
    assert check(*entries) == ["", "digits", "digits/0", "digits/0/1.png", "digits/1/2.png", "digits/0"]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (ArchiveEntry("../x"), "archive.outside"),
        (ArchiveEntry("a/../../x"), "archive.outside"),
        (ArchiveEntry("a/.."), "archive.outside"),
        (ArchiveEntry("/etc/passwd"), "archive.absolute"),
        (ArchiveEntry("C:/x"), "archive.absolute"),
        (ArchiveEntry("..\\x"), "archive.backslash"),
        (ArchiveEntry("a\\b"), "archive.backslash"),
        (ArchiveEntry("x", ArchiveEntryKind.LINK), "archive.link"),
        (ArchiveEntry("x", ArchiveEntryKind.HARD_LINK), "archive.link"),
        (ArchiveEntry("x", ArchiveEntryKind.DEVICE), "archive.device"),
        (ArchiveEntry("x", mode=0o4755), "archive.setuid"),
        (ArchiveEntry("x", mode=0o2755), "archive.setuid"),
        (ArchiveEntry("x", is_encrypted=True), "archive.encrypted"),
        (ArchiveEntry("a b"), "file.space"),
        (ArchiveEntry("강아지.png"), "file.hangul"),
        (ArchiveEntry("a\0b"), "file.unseen_character"),
        (ArchiveEntry("x" * 256), "file.too_long"),
        (ArchiveEntry("a/" * 33 + "b"), "archive.too_deep"),
    ],
)
def test_an_entry_that_is_never_allowed(entry: ArchiveEntry, expected: str) -> None:
    assert code(ArchiveEntry("good.png"), entry) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (ArchiveEntry("a"), ArchiveEntry("a"), "archive.twice"),
        (ArchiveEntry("a"), ArchiveEntry("./a"), "archive.twice"),
        (ArchiveEntry("a.png"), ArchiveEntry("A.png"), "archive.case_twin"),
        (ArchiveEntry("d/x"), ArchiveEntry("D/y"), "archive.case_twin"),
        (ArchiveEntry("a"), ArchiveEntry("a/b"), "archive.file_and_folder"),
        (ArchiveEntry("a/b"), ArchiveEntry("a"), "archive.file_and_folder"),
        (ArchiveEntry("a", FOLDER), ArchiveEntry("a"), "archive.file_and_folder"),
        (ArchiveEntry("a"), ArchiveEntry("a", FOLDER), "archive.file_and_folder"),
    ],
)
def test_two_entries_that_do_not_go_together(
    first: ArchiveEntry, second: ArchiveEntry, expected: str
) -> None:
    assert code(first, second) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("\u00e9.png", "e\u0301.png", "archive.twice"),
        ("\uac00/a", "\u1100\u1161/a", "archive.twice"),
        ("\u00c9.png", "e\u0301.png", "archive.case_twin"),
    ],
    ids=ascii,
)
def test_names_are_written_in_one_form_and_twins_are_refused(first: str, second: str, expected: str) -> None:
    """macOS packs the decomposed form, other systems the composed one."""
    checker = ArchiveChecker(1000, unicode_names=True)
    assert checker.check(ArchiveEntry(second)) == unicodedata.normalize("NFC", second)
    with pytest.raises(Refused) as refused:
        checker.check(ArchiveEntry(first))
    assert refused.value.code == expected


def test_limits_of_number_and_bytes() -> None:
    assert (
        code(ArchiveEntry("a"), ArchiveEntry("b"), ArchiveEntry("c"), limits=ArchiveLimits(files=2))
        == "archive.too_many_files"
    )
    big = ArchiveLimits(total_bytes=100, ratio_from=1000)
    assert code(ArchiveEntry("a", size=60), ArchiveEntry("b", size=41), limits=big) == "archive.too_large"


def test_ten_gigabytes_of_zeros_in_ten_megabytes() -> None:
    assert code(ArchiveEntry("zeros", size=10 * 2**30), packed=10 * 2**20) == "archive.too_dense"
    assert check(ArchiveEntry("small-zeros", size=2**29), packed=1000) == ["small-zeros"]


def test_an_archive_whose_sizes_lie() -> None:
    verdict = ArchiveChecker(1000, ArchiveLimits(ratio_from=10**6))
    entry = ArchiveEntry("a", size=10)
    verdict.check(entry)
    verdict.count(entry, 10)
    with pytest.raises(Refused, match="archive.size_lies"):
        verdict.count(entry, 1)


def test_what_is_unpacked_counts_against_the_limits_too() -> None:
    verdict = ArchiveChecker(1000, ArchiveLimits(total_bytes=5))
    with pytest.raises(Refused, match="archive.too_large"):
        verdict.count(ArchiveEntry("a"), 6)


def test_negative_sizes_gain_nothing() -> None:
    verdict = ArchiveChecker(1000, ArchiveLimits(total_bytes=5))
    verdict.check(ArchiveEntry("a", size=-100))
    with pytest.raises(Refused):
        verdict.check(ArchiveEntry("b", size=6))


def test_an_archive_without_files_is_refused() -> None:
    verdict = ArchiveChecker(1000)
    verdict.check(ArchiveEntry("a", FOLDER))
    with pytest.raises(Refused, match="archive.empty"):
        verdict.finish()
    verdict.check(ArchiveEntry("a/b"))
    assert verdict.finish() == 1


def noted(*names: str) -> ArchiveChecker:
    """A checker that has met these names, as the unpacking does."""
    verdict = ArchiveChecker(1000)
    for name in names:
        with pytest.raises(Refused) as refusal:
            verdict.check(ArchiveEntry(name))
        assert verdict.note_bad_names(ArchiveEntry(name), refusal.value)
    return verdict


def test_all_bad_names_are_told_at_once() -> None:
    verdict = noted("원/1.png", "원/2.png", "네모/별 1.png")
    assert verdict.has_bad_names
    with pytest.raises(Refused, match="archive.bad_names") as refusal:
        verdict.finish()
    assert refusal.value.data["suggested"] == [["원", "weon"], ["네모", "nemo"], ["별 1.png", "byeol_1.png"]]
    with pytest.raises(Refused, match="file.hangul"):
        noted("원/1.png", "원/2.png").finish()


def test_other_faults_are_no_bad_names() -> None:
    verdict = ArchiveChecker(1000)
    assert not verdict.note_bad_names(ArchiveEntry("a"), Refused("archive", "archive.link", entry="a"))
    assert not verdict.has_bad_names


def test_latin_names_stand_in_for_refused_ones() -> None:
    verdict = ArchiveChecker(1000, latin_names=True)
    paths = [verdict.check(ArchiveEntry(name)) for name in ("원/1.png", "원/별 2.png", "plain/a.png")]
    assert paths == ["weon/1.png", "weon/byeol_2.png", "plain/a.png"]
    with pytest.raises(Refused, match="archive.latin_twin"):
        verdict.check(ArchiveEntry("weon/3.png"))
    with pytest.raises(Refused, match="archive.outside"):
        verdict.check(ArchiveEntry("../원"))


def test_unicode_names_are_a_setting_here_too() -> None:
    assert ArchiveChecker(1, unicode_names=True).check(ArchiveEntry("강아지/1.png")) == "강아지/1.png"


def test_a_long_name_is_cut_where_it_is_shown() -> None:
    with pytest.raises(Refused) as refused:
        check(ArchiveEntry("\udcff/" + "x" * 300, ArchiveEntryKind.LINK))
    assert len(refused.value.data["entry"]) == 200
    refused.value.data["entry"].encode()
