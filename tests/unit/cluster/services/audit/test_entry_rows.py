"""Entries are read as text: what no program can parse stays as it is, and always in the same way."""

import json
import sys
from datetime import UTC, datetime

import pytest

from cluster.services.audit.entry_rows import (
    DEEPEST,
    parse_aware_moment,
    parse_json_text,
    read_whole_number,
    to_utc_text,
)


@pytest.mark.parametrize("value", [{}, {"a": [1, None, "x"]}, {"a": {"b": [[]]}}, [1], "text", None, 1.5])
def test_json_is_parsed(value: object) -> None:
    assert parse_json_text(json.dumps(value)) == value


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST])
def test_as_deep_as_it_is_meant(depth: int) -> None:
    text = "[" * depth + " " * 300 + "]" * depth
    assert parse_json_text(text) == json.loads(text)


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[1] [2]", "9" * 6000])
def test_what_is_no_json_stays_text(text: str) -> None:
    assert parse_json_text(text) == text


def test_how_deep_is_parsed_does_not_depend_on_the_stack() -> None:
    """A seal is made by another caller than its check."""
    deep, shallow = "[" * (DEEPEST + 1) + "1" + "]" * (DEEPEST + 1), "[" * DEEPEST + "1" + "]" * DEEPEST

    def parse_below(frames: int) -> tuple[object, object]:
        return parse_below(frames - 1) if frames else (parse_json_text(deep), parse_json_text(shallow))

    assert parse_below(0) == parse_below(sys.getrecursionlimit() // 3) == (deep, json.loads(shallow))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-11-20 18:00:00.000001", "2026-11-20T18:00:00.000001+00:00"),
        ("2026-11-20 18:00:00.000000", "2026-11-20T18:00:00+00:00"),
        ("infinity", "infinity"),
        ("20000-01-01 00:00:00.000000", "20000-01-01 00:00:00.000000"),
        ("None", "None"),
    ],
)
def test_a_time_is_iso_or_what_stood_there(text: str, written: str) -> None:
    assert to_utc_text(text) == written


def test_only_a_moment_with_a_zone_is_one() -> None:
    assert parse_aware_moment("2026-11-20T18:00:00+00:00") == datetime(2026, 11, 20, 18, tzinfo=UTC)
    assert [parse_aware_moment(each) for each in ("2026-11-20T18:00:00", "infinity", None, 5)] == [None] * 4


def test_a_number_of_a_fact_is_whole_and_fits_into_a_column() -> None:
    fact = {"good": 5, "none": None, "text": "5", "truth": True, "negative": -1, "large": 2**63}
    assert [name for name in fact if read_whole_number(fact, name) is not None] == ["good"]
