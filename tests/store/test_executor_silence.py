"""That the container engine does not answer is noted once, told to administrators, and taken back."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.services.context import Cluster
from cluster.services.executor_silence import note_silence, read_silence
from cluster.services.leases import Held, LeaseLost, hold_lease
from tests.conftest import Clock, RecordingBell
from worker.executors.contract import CannotTell
from worker.reconciler import Reconciler

LASTS = timedelta(seconds=10)
SAID = {"socket": "/run/docker.sock"}


@pytest.fixture
def held(cluster: Cluster) -> Held:
    found = hold_lease(cluster, "scheduler", "one", LASTS)
    assert found
    return found


def test_silence_is_noted_once_with_its_beginning(
    cluster: Cluster, held: Held, clock: Clock, bell: RecordingBell
) -> None:
    assert read_silence(cluster) is None
    assert not note_silence(cluster, held, None, {})
    assert note_silence(cluster, held, "engine.silent", SAID)
    assert bell.rung == [("nodes", 0)]
    began = clock.now
    clock.move(seconds=5)
    assert not note_silence(cluster, held, "engine.silent", SAID)
    known = read_silence(cluster)
    assert known and (known.code, known.data, known.since) == ("engine.silent", SAID, began)
    assert note_silence(cluster, held, None, {})
    assert read_silence(cluster) is None


def test_who_lost_the_lease_notes_nothing(cluster: Cluster, held: Held, clock: Clock) -> None:
    clock.move(hours=1)
    assert hold_lease(cluster, "scheduler", "another", LASTS)
    with pytest.raises(LeaseLost):
        note_silence(cluster, held, "engine.silent", SAID)


def test_the_look_for_strays_says_whether_the_executor_answers(light_cluster: Cluster, tmp_path: Any) -> None:
    answers = [CannotTell("engine.silent", **SAID), []]

    def list_running() -> list[object]:
        answer = answers.pop(0)
        if isinstance(answer, CannotTell):
            raise answer
        return answer

    executor: Any = SimpleNamespace(list_running=list_running, forget_all_but=lambda known: None)
    reconciler = Reconciler(light_cluster, executor, tmp_path)
    assert reconciler.strays.end() is None
    assert reconciler.strays.silence and reconciler.strays.silence.data == SAID
    assert reconciler.strays.end() == 0
    assert reconciler.strays.silence is None
    reconciler.starts.askers.shutdown()
