"""A node's state from what its row says, and what became of it since something was placed there."""

from datetime import UTC, datetime, timedelta

import pytest

from cluster.domain.errors import Refused
from cluster.domain.jobs.attempts import NodeFate
from cluster.domain.nodes.node_state import (
    NodeSignals,
    check_drain_reason,
    has_recovered,
    is_due_to_be_lost,
    node_fate_since,
    node_state_of,
    worst_fate,
)

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
GRACE = timedelta(seconds=300)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


TABLE = """
silent executor draining lost  | state
0      yes      no       no    | ready
20     yes      no       no    | ready
21     yes      no       no    | unreachable
9999   yes      no       no    | unreachable
never  yes      no       no    | unreachable
0      yes      yes      no    | draining
21     yes      yes      no    | unreachable
0      no       no       no    | no_executor
0      no       yes      no    | no_executor
0      yes      no       yes   | lost
400    yes      yes      yes   | lost
-3600  yes      no       no    | ready
"""


@pytest.mark.parametrize("line", TABLE.strip().splitlines()[1:])
def test_a_node_is_in_one_state_the_gravest(line: str) -> None:
    signs, expected = line.split("|")
    silent, executor, draining, lost = signs.split()
    node = NodeSignals(
        None if silent == "never" else ago(float(silent)),
        executor == "yes",
        ago(60) if draining == "yes" else None,
        ago(60) if lost == "yes" else None,
    )
    assert node_state_of(node, NOW) == expected.strip()


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (NodeSignals(ago(299)), False),
        (NodeSignals(ago(300)), True),
        (NodeSignals(ago(300), draining_since=ago(900)), True),
        (NodeSignals(ago(300), lost_at=ago(1)), False),
        (NodeSignals(None), False),
    ],
)
def test_a_silent_node_is_given_up_after_its_grace_time(node: NodeSignals, expected: bool) -> None:
    assert is_due_to_be_lost(node, NOW, GRACE) is expected


def test_a_lost_node_has_healed_when_it_speaks() -> None:
    assert has_recovered(NodeSignals(ago(3), lost_at=ago(60)), NOW)
    assert not has_recovered(NodeSignals(ago(400), lost_at=ago(60)), NOW)
    assert not has_recovered(NodeSignals(ago(3)), NOW)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (NodeSignals(ago(1)), NodeFate.SAME_BOOT),
        (NodeSignals(ago(1), booted_at=ago(500)), NodeFate.SAME_BOOT),
        (NodeSignals(ago(1), booted_at=ago(5)), NodeFate.REBOOTED),
        (NodeSignals(ago(60)), NodeFate.UNREACHABLE),
        (NodeSignals(ago(60), booted_at=ago(70)), NodeFate.REBOOTED),
        (NodeSignals(ago(400), lost_at=ago(90), booted_at=ago(70)), NodeFate.LOST),
    ],
)
def test_what_became_of_a_node_since_something_was_placed_there(
    node: NodeSignals, expected: NodeFate
) -> None:
    assert node_fate_since(node, ago(100), NOW) is expected


def test_a_gang_has_the_fate_of_its_worst_node() -> None:
    assert worst_fate([NodeFate.SAME_BOOT, NodeFate.LOST, NodeFate.UNREACHABLE]) is NodeFate.LOST
    assert worst_fate([NodeFate.UNREACHABLE, NodeFate.REBOOTED]) is NodeFate.REBOOTED
    assert worst_fate([]) is NodeFate.SAME_BOOT


def test_a_drain_has_a_reason() -> None:
    assert check_drain_reason("  new\n memory ") == "new memory"
    for text in ("", " \n", "x" * 201, "a\0b", "\ud800"):
        with pytest.raises(Refused):
            check_drain_reason(text)
