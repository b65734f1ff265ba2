"""A job asks for memory within limits, and gets its share."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.jobs.memory import (
    MIN_BYTES,
    NodeMemory,
    check_memory,
    format_exact_size,
    memory_limit_of,
    parse_size,
    round_down_size,
)
from cluster.domain.states import UnitKind

GIB, TIB = 1024**3, 1024**4
EIGHT = NodeMemory(8, 1000 * GIB)
"""Each of its units comes with 112.5 GiB."""
SMALL = NodeMemory(4, 200 * GIB)
"""Each of its units comes with 45 GiB."""


@pytest.mark.parametrize(
    ("asked", "units", "nodes", "overcommit", "most"),
    [
        (112 * GIB, 1, [EIGHT], 100, None),
        (113 * GIB, 1, [EIGHT], 100, 112 * GIB),
        (900 * GIB, 8, [EIGHT], 100, None),
        (113 * GIB, 1, [EIGHT], 200, None),
        (226 * GIB, 1, [EIGHT], 200, 225 * GIB),
        # Placement may choose either: what both can give.
        (46 * GIB, 1, [EIGHT, SMALL], 100, 45 * GIB),
        (400 * GIB, 5, [EIGHT, SMALL], 100, None),
        # On several nodes, each with its part.
        (1800 * GIB, 16, [EIGHT, EIGHT], 100, None),
        (1801 * GIB, 16, [EIGHT, EIGHT], 100, 1.7 * TIB),
        (800 * TIB, 1, [], 100, None),
    ],
)
def test_a_job_asks_for_its_units_share_at_most(
    asked: int, units: int, nodes: list[NodeMemory], overcommit: int, most: float | None
) -> None:
    if most is None:
        assert check_memory(asked, units, UnitKind.GPU, nodes, overcommit) == asked
        return
    with pytest.raises(Refused) as refused:
        check_memory(asked, units, UnitKind.GPU, nodes, overcommit)
    assert (refused.value.field, refused.value.code) == ("memory_bytes", "job.memory_over_share")
    assert refused.value.data["most"] == int(most)
    assert check_memory(int(most), units, UnitKind.GPU, nodes, overcommit)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (0, "job.memory_too_little"),
        (-1, "job.memory_too_little"),
        (MIN_BYTES - 1, "job.memory_too_little"),
        (901 * GIB, "job.memory_over_node"),
    ],
)
def test_what_no_node_can_give_is_refused_by_name(asked: int, code: str) -> None:
    with pytest.raises(Refused) as refused:
        check_memory(asked, 8, UnitKind.GPU, [EIGHT, SMALL])
    assert (refused.value.field, refused.value.code) == ("memory_bytes", code)


@pytest.mark.parametrize("units", range(1, 9))
def test_whatever_jobs_ask_for_together_they_get_no_more_than_the_node_has(units: int) -> None:
    others = 8 - units
    limits = [memory_limit_of(EIGHT, units, 10 * TIB), memory_limit_of(EIGHT, others, None) if others else 0]
    assert sum(limits) <= EIGHT.for_jobs < EIGHT.memory_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("12GiB", 12 * GIB),
        ("12 GiB", 12 * GIB),
        ("12", 12 * GIB),
        ("1.5 TiB", TIB * 3 // 2),
        ("800MiB", 800 * 1024**2),
        ("15461882265 B", 15461882265),
        ("14.4 GiB", 15461882265),
        ("", None),
        ("12GB", None),
        ("-1", None),
        ("1e9", None),
        ("١٢", None),
        ("9999999999999999", None),
    ],
)
def test_a_size_is_read_and_written_to_the_byte(text: str, size: int | None) -> None:
    assert parse_size(text) == size
    if size is not None:
        assert parse_size(format_exact_size(size)) == size


@pytest.mark.parametrize("size", [15461882265 + 99, 112.96 * GIB, 999.7 * GIB, 1.79 * TIB, 500_000_000, 700])
def test_what_a_sentence_shows_is_never_more_than_there_is(size: float) -> None:
    assert int(size) * 0.9 < round_down_size(int(size)) <= int(size)
    assert round_down_size(round_down_size(int(size))) == round_down_size(int(size))
