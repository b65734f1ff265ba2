"""Format numbers in both languages: units, counted nouns, durations, sizes, percents, days and times.

Pages, sentences, mails, notifications and the console use these functions. The command, which only uses REST, follows
the same rules (docs/developing/words.md).
"""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from cluster.domain.jobs.metric_names import is_accuracy
from cluster.domain.queue.start_estimate import MAX_AHEAD_COUNTED
from cluster.domain.states import UnitKind

UNIT_WORDS = {
    UnitKind.GPU: {"en": ("GPU", "GPUs"), "ko": ("GPU", "GPU")},
    UnitKind.CPU_SLOT: {"en": ("CPU slot", "CPU slots"), "ko": ("CPU 슬롯", "CPU 슬롯")},
}
COUNTED_UNITS_KO = {UnitKind.GPU: "GPU {}장", UnitKind.CPU_SLOT: "CPU 슬롯 {}개"}

COUNTED_NOUNS: dict[str, tuple[str, str, str]] = {
    "arguments": ("argument", "arguments", "인자 {}개"),
    "bytes_of_name": ("byte", "bytes", "{}바이트"),
    "characters": ("character", "characters", "{}자"),
    "days": ("day", "days", "{}일"),
    "files": ("file", "files", "파일 {}개"),
    "jobs": ("job", "jobs", "{}건"),
    "minutes": ("minute", "minutes", "{}분"),
    "nodes": ("node", "nodes", "{}대"),
    "people": ("person", "people", "{}명"),
    "pictures": ("picture", "pictures", "그림 {}장"),
    "classes": ("class", "classes", "클래스 {}개"),
    "processes": ("process", "processes", "프로세스 {}개"),
    "ranks": ("rank", "ranks", "랭크 {}개"),
    "trainings": ("training", "trainings", "학습 {}개"),
    "tries": ("try", "tries", "{}번"),
    "times": ("time", "times", "{}번"),
    "operations": ("operation", "operations", "{}건"),
    "rows": ("row", "rows", "{}행"),
    "entries": ("entry", "entries", "항목 {}개"),
}
"""The singular and plural in English, and the Korean noun with its counter."""

DURATIONS = {
    "en": (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)),
    "ko": (("일", 86400), ("시간", 3600), ("분", 60), ("초", 1)),
}
SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def unit_word(kind: UnitKind | str | None, language: str, number: int = 1) -> str:
    """GPU, GPUs, CPU slot, CPU slots; one form in Korean. If `kind` is None, because no node has reported yet, it is
    "unit".
    """
    korean = language == "ko"
    if kind is None:
        return "단위" if korean else "unit" if number == 1 else "units"
    singular, plural = UNIT_WORDS[UnitKind(kind)]["ko" if korean else "en"]
    return singular if number == 1 else plural


def format_units(number: int, kind: UnitKind | str | None, language: str) -> str:
    """2 GPUs, 1 CPU slot; GPU 2장, CPU 슬롯 1개."""
    if language == "ko":
        return (COUNTED_UNITS_KO[UnitKind(kind)] if kind else "단위 {}개").format(format_number(number))
    return f"{format_number(number)} {unit_word(kind, language, number)}"


def format_counted(number: int, noun: str, language: str) -> str:
    """ "1 job", "2 jobs", "2건"; `noun` is a key of COUNTED."""
    singular, plural, korean = COUNTED_NOUNS[noun]
    if language == "ko":
        return korean.format(format_number(number))
    return f"{format_number(number)} {singular if number == 1 else plural}"


def format_number(number: float, digits: int | None = None) -> str:
    """The number with separated thousands: 12,345. Without `digits` a fraction has four
    significant figures: 0.951.
    """
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "∞" if number > 0 else "−∞"
    if digits is not None:
        return f"{number:,.{digits}f}"
    if float(number).is_integer():
        return f"{int(number):,}"
    return f"{number:,.1f}" if abs(number) >= 1000 else f"{number:.4g}"


def format_capped_count(number: int) -> str:
    """The number, or "1,000+" if it is larger than 1,000."""
    return f"{MAX_AHEAD_COUNTED:,}+" if number > MAX_AHEAD_COUNTED else format_number(number)


def format_duration(seconds: float, language: str) -> str:
    """The duration in at most two units: "2 h 5 min", "2시간 5분". It is "0 s" below half a second."""
    names = DURATIONS["ko" if language == "ko" else "en"]
    space = "" if language == "ko" else " "
    left = max(0, round(seconds))
    first = next((place for place, (_, size) in enumerate(names) if left >= size), len(names) - 1)
    parts: list[str] = []
    for name, size in names[first : first + 2]:
        amount, left = divmod(left, size)
        if amount or not parts:
            parts.append(f"{amount}{space}{name}")
    return " ".join(parts)


def format_age(seconds: float, language: str) -> str:
    """The age in one unit, rounded down: "4 min ago", "3일 전". It is "now" below a second and for a future moment."""
    korean = language == "ko"
    whole = int(seconds)
    if whole < 1:
        return "지금" if korean else "now"
    name, size = next(unit for unit in DURATIONS["ko" if korean else "en"] if whole >= unit[1])
    return f"{whole // size}{name} 전" if korean else f"{whole // size} {name} ago"


def format_size(number: float) -> str:
    """Bytes in the largest binary unit that leaves a number of one or more: "1.5 GiB"."""
    value = float(max(0, number))
    for name in SIZES:
        if round(value) < 1024 or name == SIZES[-1]:
            break
        value /= 1024
    return f"{value:.0f} {name}" if name == "B" or value >= 99.95 else f"{value:.1f} {name}"


def format_percent(share: float, digits: int = 0) -> str:
    """Formats 0.88 as "88 %", rounded down, so that only the whole is 100 %."""
    if not math.isfinite(share):
        return format_number(share)
    scale: int = 10**digits
    return f"{min(100.0, math.floor(share * 100 * scale + 1e-9) / scale):.{digits}f} %"


def format_metric_value(metric: str, value: float) -> str:
    """An accuracy of 0 to 1 as a share, everything else as a number."""
    return format_percent(value, 1) if is_accuracy(metric) and 0 <= value <= 1 else format_number(value)


def format_clock(moment: datetime | str, zone: tzinfo | None) -> str:
    """ "14:38"."""
    return f"{parse_moment(moment).astimezone(zone):%H:%M}"


def format_short_datetime(moment: datetime | str, zone: tzinfo | None, now: datetime | None) -> str:
    """ "14:38" on the day of `now`, "11-20 14:38" on another day of its year, else with the year."""
    at = parse_moment(moment).astimezone(zone)
    today = now.astimezone(zone).date() if now else None
    if today == at.date():
        return f"{at:%H:%M}"
    return f"{at:%m-%d %H:%M}" if today and today.year == at.year else f"{at:%Y-%m-%d %H:%M}"


def format_datetime(moment: datetime | str, zone: tzinfo | None) -> str:
    """ "2026-11-20 14:38:05"."""
    return f"{parse_moment(moment).astimezone(zone):%Y-%m-%d %H:%M:%S}"


def format_day(value: date | str) -> str:
    """ "2026-11-20"."""
    return value[:10] if isinstance(value, str) else f"{value:%Y-%m-%d}"


def parse_moment(value: datetime | str) -> datetime:
    """Parses a time. One without a zone is UTC."""
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def format_list(values: Iterable[Any], language: str) -> str:
    """Joins texts: "a, b and c", or "a, b, c" in Korean."""
    words = [str(value) for value in values]
    if language == "ko" or len(words) < 2:
        return ", ".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def format_bounds(limits: Mapping[str, Any], language: str) -> str:
    """ "0 or more, below 1" from minimum, maximum and whether they are excluded."""
    low, high = limits.get("minimum"), limits.get("maximum")
    no_low, no_high = limits.get("minimum_is_excluded"), limits.get("maximum_is_excluded")
    parts = []
    if language == "ko":
        parts += [f"{low:,} {'초과' if no_low else '이상'}"] if low is not None else []
        parts += [f"{high:,} {'미만' if no_high else '이하'}"] if high is not None else []
        return " ".join(parts)
    parts += [f"more than {low:,}" if no_low else f"{low:,} or more"] if low is not None else []
    parts += [f"below {high:,}" if no_high else f"at most {high:,}"] if high is not None else []
    return ", ".join(parts)


PARTICLES = {"이": ("이", "가"), "은": ("은", "는"), "을": ("을", "를"), "으로": ("으로", "로")}
ENDS_IN_CONSONANT = {"0": True, "1": True, "3": True, "6": True, "7": True, "8": True}
"""The digits whose Korean names (영 일 삼 육 칠 팔) end in a consonant."""


def with_particle(word: str, particle: str) -> str:
    """Adds the form of the particle that the last Hangul letter or digit requires: 4장이, job-1055가.

    After a Latin letter, whose sound is not known, both forms are written: gpu-a이(가).
    """
    closed, open_ = PARTICLES[particle]
    last = word[-1:]
    if "가" <= last <= "힣":
        final = (ord(last) - ord("가")) % 28
        if particle == "으로" and final == 8:  # After ㄹ the form is 로.
            return word + open_
        return word + (closed if final else open_)
    if last.isdigit():
        if particle == "으로" and last in "178":  # 일, 칠 and 팔 end in ㄹ.
            return word + open_
        return word + (closed if last in ENDS_IN_CONSONANT else open_)
    return f"{word}{closed}({open_})"
