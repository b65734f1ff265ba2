"""Numbers with their nouns, in both languages."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from cluster.domain.states import UnitKind
from cluster.words import formatting


@pytest.mark.parametrize(
    ("number", "kind", "english", "korean"),
    [
        (0, UnitKind.GPU, "0 GPUs", "GPU 0장"),
        (1, UnitKind.GPU, "1 GPU", "GPU 1장"),
        (2, "gpu", "2 GPUs", "GPU 2장"),
        (1, UnitKind.CPU_SLOT, "1 CPU slot", "CPU 슬롯 1개"),
        (2, "cpu_slot", "2 CPU slots", "CPU 슬롯 2개"),
        (1000, "gpu", "1,000 GPUs", "GPU 1,000장"),
        (1, None, "1 unit", "단위 1개"),
        (2, None, "2 units", "단위 2개"),
    ],
)
def test_units(number: int, kind: UnitKind | str | None, english: str, korean: str) -> None:
    assert formatting.format_units(number, kind, "en") == english
    assert formatting.format_units(number, kind, "ko") == korean


@pytest.mark.parametrize(
    ("kind", "one", "many", "korean"),
    [
        ("gpu", "GPU", "GPUs", "GPU"),
        ("cpu_slot", "CPU slot", "CPU slots", "CPU 슬롯"),
        (None, "unit", "units", "단위"),
    ],
)
def test_unit_words(kind: str | None, one: str, many: str, korean: str) -> None:
    assert formatting.unit_word(kind, "en") == one
    assert formatting.unit_word(kind, "en", 2) == many
    assert formatting.unit_word(kind, "ko", 2) == korean


@pytest.mark.parametrize("noun", formatting.COUNTED_NOUNS)
def test_every_counted_noun_has_two_english_forms_and_one_korean(noun: str) -> None:
    one, many = formatting.format_counted(1, noun, "en"), formatting.format_counted(2, noun, "en")
    assert one.removeprefix("1 ") != many.removeprefix("2 ")
    assert "12" in formatting.format_counted(12, noun, "ko")


def test_jobs_and_nodes_have_their_korean_counters() -> None:
    assert formatting.format_counted(3, "jobs", "ko") == "3건"
    assert formatting.format_counted(3, "nodes", "ko") == "3대"


@pytest.mark.parametrize(
    ("seconds", "english", "korean"),
    [
        (-5, "0 s", "0초"),
        (0.4, "0 s", "0초"),
        (1, "1 s", "1초"),
        (59.6, "1 min", "1분"),
        (61, "1 min 1 s", "1분 1초"),
        (3600, "1 h", "1시간"),
        (3605, "1 h", "1시간"),
        (7500, "2 h 5 min", "2시간 5분"),
        (90000, "1 d 1 h", "1일 1시간"),
        (10**7, "115 d 17 h", "115일 17시간"),
    ],
)
def test_durations_have_at_most_two_units(seconds: float, english: str, korean: str) -> None:
    assert formatting.format_duration(seconds, "en") == english
    assert formatting.format_duration(seconds, "ko") == korean


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (-1, "0 B"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (200 * 1024**2, "200 MiB"),
        (99.96 * 1024**2, "100 MiB"),
        (1024**2 - 1, "1.0 MiB"),
        (148_000_000_000, "138 GiB"),
        (8 * 1024**3, "8.0 GiB"),
        (5000 * 1024**5, "5000 PiB"),
    ],
)
def test_sizes(number: float, text: str) -> None:
    assert formatting.format_size(number) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.29, "29 %"), (0.996, "99 %"), (0.999, "99 %"), (1, "100 %"), (1.5, "100 %")],
)
def test_percents_are_never_rounded_up_to_whole(share: float, text: str) -> None:
    assert formatting.format_percent(share) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.9512, "95.1 %"), (0.9996, "99.9 %"), (1, "100.0 %"), (float("nan"), "NaN")]
)
def test_shares_of_accuracy_have_one_digit(share: float, text: str) -> None:
    assert formatting.format_percent(share, 1) == text


@pytest.mark.parametrize(
    ("seconds", "english", "korean"),
    [
        (-5, "now", "지금"),
        (0.9, "now", "지금"),
        (2, "2 s ago", "2초 전"),
        (119, "1 min ago", "1분 전"),
        (11 * 3600, "11 h ago", "11시간 전"),
        (9 * 86400, "9 d ago", "9일 전"),
    ],
)
def test_an_age_is_one_unit(seconds: float, english: str, korean: str) -> None:
    assert formatting.format_age(seconds, "en") == english
    assert formatting.format_age(seconds, "ko") == korean


AT = datetime(2026, 11, 20, 5, 38, tzinfo=UTC)
SEOUL = ZoneInfo("Asia/Seoul")


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (datetime(2026, 11, 20, 1, 0, tzinfo=UTC), "14:38"),
        (datetime(2026, 11, 19, 14, 0, tzinfo=UTC), "11-20 14:38"),
        (datetime(2025, 11, 20, 1, 0, tzinfo=UTC), "2026-11-20 14:38"),
        (None, "2026-11-20 14:38"),
    ],
)
def test_a_moment_says_the_day_where_it_is_another_one(now: datetime | None, text: str) -> None:
    assert formatting.format_short_datetime(AT, SEOUL, now) == text
    assert formatting.format_short_datetime(AT.isoformat(), SEOUL, now) == text


def test_a_moment_without_a_zone_is_utc() -> None:
    bare = datetime(2026, 11, 20, 5, 38, 5)  # noqa: DTZ001
    assert formatting.format_clock(bare, SEOUL) == "14:38"
    assert formatting.format_datetime(bare, SEOUL) == "2026-11-20 14:38:05"


def test_days() -> None:
    assert formatting.format_day(date(2026, 11, 20)) == formatting.format_day("2026-11-20") == "2026-11-20"


@pytest.mark.parametrize(
    ("values", "english", "korean"),
    [([], "", ""), (["a"], "a", "a"), (["a", "b"], "a and b", "a, b"), ([1, 2, 3], "1, 2 and 3", "1, 2, 3")],
)
def test_lists(values: list[object], english: str, korean: str) -> None:
    assert formatting.format_list(values, "en") == english
    assert formatting.format_list(values, "ko") == korean


@pytest.mark.parametrize(
    ("word", "particle", "text"),
    [
        ("GPU 4장", "이", "GPU 4장이"),
        ("CPU 슬롯 2개", "이", "CPU 슬롯 2개가"),
        ("job-1055", "이", "job-1055가"),
        ("job-1053", "이", "job-1053이"),
        ("job-1050", "은", "job-1050은"),
        ("job-1052", "을", "job-1052를"),
        ("3장", "으로", "3장으로"),
        ("2개", "으로", "2개로"),
        ("서울", "으로", "서울로"),
        ("job-11", "으로", "job-11로"),
        ("job-13", "으로", "job-13으로"),
        ("gpu-a", "이", "gpu-a이(가)"),
    ],
)
def test_particles_follow_the_sound(word: str, particle: str, text: str) -> None:
    assert formatting.with_particle(word, particle) == text


@pytest.mark.parametrize(
    ("limits", "english", "korean"),
    [
        ({"minimum": 0, "maximum": 1, "maximum_is_excluded": True}, "0 or more, below 1", "0 이상 1 미만"),
        (
            {"minimum": 0, "minimum_is_excluded": True, "maximum": 10},
            "more than 0, at most 10",
            "0 초과 10 이하",
        ),
        ({"minimum": 1, "maximum": 10_000}, "1 or more, at most 10,000", "1 이상 10,000 이하"),
        ({"minimum": 1, "maximum": None}, "1 or more", "1 이상"),
        ({"maximum": 3}, "at most 3", "3 이하"),
        ({}, "", ""),
    ],
)
def test_bounds(limits: dict[str, object], english: str, korean: str) -> None:
    assert formatting.format_bounds(limits, "en") == english
    assert formatting.format_bounds(limits, "ko") == korean


def test_a_large_count_is_capped() -> None:
    assert [formatting.format_capped_count(number) for number in (0, 999, 1000, 1001, 50_000)] == [
        "0", "999", "1,000", "1,000+", "1,000+",
    ]  # fmt: skip
