"""Long work in turns: the same items come out, it ends in time, and nobody who waits for a file waits for another."""

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from portal.job_files import time_slicing as pace_module
from portal.job_files.time_slicing import TimeSlicer


def later(seconds: float) -> float:
    return time.monotonic() + seconds


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_each_item_comes_once_and_the_turn_is_free_afterwards(count: int) -> None:
    pace = TimeSlicer()
    assert list(pace.slice_items(iter(range(count)), later(60))) == list(range(count))
    assert not pace.turn.locked()


def test_whoever_stops_early_leaves_the_turn() -> None:
    pace = TimeSlicer()
    for item in pace.slice_items(iter(range(100)), later(60)):
        if item == 5:
            break
    assert not pace.turn.locked()


def test_the_first_item_needs_no_turn_and_the_others_come_until_the_time_is_over() -> None:
    pace = TimeSlicer()
    with pace.turn, ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: list(pace.slice_items(iter(range(100)), later(0.05)))).result(10) == [0]


@pytest.mark.parametrize("count", [0, 1])
def test_what_ends_with_its_first_item_waits_for_nobody(count: int) -> None:
    pace = TimeSlicer()
    with pace.turn, ThreadPoolExecutor(1) as pool:
        taken = pool.submit(lambda: list(pace.slice_items(iter(range(count)), later(60))))
        assert taken.result(10) == list(range(count))


def test_steps_go_on_until_there_is_none() -> None:
    left = list(range(50))
    for _ in TimeSlicer().run_steps(lambda: bool(left.pop()) if left else False):
        pass
    assert left == []


def test_steps_end_when_the_time_is_over() -> None:
    taken = []
    for _ in TimeSlicer().run_steps(lambda: taken.append(None) is None, later(0.02)):
        pass
    assert taken


def test_a_turn_rests_longer_than_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr(pace_module.time, "sleep", rests.append)
    steps = iter(range(20_000))
    turns = sum(1 for _ in TimeSlicer().run_steps(lambda: next(steps, None) is not None))
    assert rests == [pace_module.REST_SECONDS] * (turns - 1)
    assert pace_module.REST_SECONDS > pace_module.SLICE_SECONDS


@pytest.mark.parametrize(
    ("late", "rests"),
    [
        ([0.0], 1),
        ([0.0004, 0.002], 1),
        ([0.002, 0.0], 2),
        ([0.002, 0.001, 0.002, 0.0, 0.0], 4),
        ([0.002] * 9, pace_module.MOST_RESTS),
    ],
)
def test_a_rest_goes_on_while_others_have_work(
    late: list[float], rests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`late`: so many seconds after its due each rest ends, because the process is somebody else's."""
    clock, slept = [100.0], list[float]()

    def sleep(seconds: float) -> None:
        clock[0] += seconds + late[len(slept)]
        slept.append(seconds)

    monkeypatch.setattr(pace_module, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    pace_module.rest(0.003)
    assert slept == [0.003] * rests
