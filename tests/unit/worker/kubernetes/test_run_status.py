"""The status of a run follows from its pods as the API server lists them."""

from dataclasses import replace
from typing import Any

import pytest

from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.jobs.exits import ExitRecord, RankExit
from worker.inside.shim_gang import UNREACHED
from worker.kubernetes import object_names
from worker.kubernetes.run_status import build_exit_record, observe_run, start_delay
from worker.kubernetes.snapshot import RunObjects, group_by_attempt

Thing = dict[str, Any]
NUMBERS = (7, 1)
WENT_WELL = ExitRecord(*NUMBERS, 1, exit_code=0)
WENT_BADLY = ExitRecord(*NUMBERS, 1, exit_code=1)
ENDED_AT = "2026-11-21T10:00:30Z"


def pod(name: str, phase: str = "Running", code: int | None = None, **about: Any) -> Thing:
    """`code`: its container has ended with it, at ENDED_AT."""
    labels = object_names.attempt_labels("here", 3, *NUMBERS) | about.pop("labels", {})
    born = {"name": name, "namespace": "gc-workspace-3", "creationTimestamp": "2026-11-21T10:00:00Z"}
    ended = {"terminated": {"exitCode": code, "finishedAt": ENDED_AT}}
    state = about.pop("states", []) if code is None else [{"name": "run", "state": ended}]
    status = {"phase": phase, "containerStatuses": state, "conditions": about.pop("conditions", [])}
    return {"kind": "Pod", "metadata": {**born, "labels": labels, **about}, "spec": {}, "status": status}


def deleted_at(second: int, grace: int = 45) -> dict[str, Any]:
    """Somebody asked for it then: what stands there is when the grace is over."""
    over = second + grace
    return {
        "deletionTimestamp": f"2026-11-21T10:{over // 60:02}:{over % 60:02}Z",
        "deletionGracePeriodSeconds": grace,
    }


def found(*pods: Thing) -> RunObjects:
    return RunObjects(*NUMBERS, workspace=3, pods=list(pods))


def launcher(code: int) -> Thing:
    phase = "Failed" if code else "Succeeded"
    return pod("gc-7-1-launcher-x", phase, code, labels={object_names.ROLE: object_names.LAUNCHER})


def worker(phase: str = "Failed", code: int | None = 255, **about: Any) -> Thing:
    return pod("gc-7-1-worker-0", phase, code, labels={object_names.ROLE: "worker"}, **about)


def member(number: int, phase: str, code: int | None = None, **about: Any) -> Thing:
    return pod(f"gc-7-1-{number}", phase, code, labels={object_names.INDEX: str(number)}, **about)


def on(node: str, thing: Thing) -> Thing:
    return thing | {"spec": {"nodeName": node}}


@pytest.mark.parametrize(
    ("main", "other", "seen"),
    [
        (launcher(0), worker("Running", None), ObservedState.ENDED),
        (launcher(1), worker("Running", None), ObservedState.UNKNOWN),
        (member(0, "Succeeded", 0), member(1, "Running"), ObservedState.UNKNOWN),
        (member(0, "Succeeded", 0), member(1, "Succeeded", 0), ObservedState.ENDED),
    ],
)
def test_a_gang_that_has_come_to_a_good_end_is_not_given_up_with_a_node(
    main: Thing, other: Thing, seen: ObservedState
) -> None:
    """mpirun speaks for all ranks; number 0 of an Indexed Job for itself alone."""
    gang = found(on("node-1", main), on("node-2", other))
    assert observe_run(gang, {"node-2"}, begun=True) is seen
    if seen is ObservedState.ENDED:
        told = build_exit_record(gang, WENT_WELL, False, NUMBERS)
        assert told is not None and (told.exit_code, told.disruption) == (0, None)


DRAINED = [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]


@pytest.mark.parametrize("truth", [WENT_WELL, WENT_BADLY])
def test_workers_that_the_operator_tidies_away_after_the_launcher_take_nothing_from_its_end(
    truth: ExitRecord,
) -> None:
    """sshd ends with 255 when its kubelet ends it, and stands there as Failed until it is gone."""
    ended = build_exit_record(
        found(launcher(truth.exit_code or 0), worker(**deleted_at(31))), truth, False, NUMBERS
    )
    assert ended is not None and ended.disruption is None and ended.exit_code == truth.exit_code


@pytest.mark.parametrize("second", [28, 30])
def test_a_worker_that_was_taken_away_before_the_launcher_failed_is_why_it_failed(second: int) -> None:
    ended = build_exit_record(found(launcher(1), worker(**deleted_at(second))), WENT_BADLY, False, NUMBERS)
    assert ended is not None and ended.disruption is not None
    assert ended.disruption.code == "interrupted.pod_deleted"


def test_a_good_end_stays_one_whoever_drains_the_node_meanwhile() -> None:
    alone = pod("gc-7-1-x", "Succeeded", 0, conditions=DRAINED)
    assert build_exit_record(found(alone), WENT_WELL, False, NUMBERS) == ExitRecord(
        *NUMBERS, 1, exit_code=0, executor_exit_code=0
    )


def test_a_member_of_an_indexed_job_that_is_drained_before_its_end_is_missed() -> None:
    parts = member(0, "Succeeded", 0), member(1, "Failed", 143, conditions=DRAINED, **deleted_at(20))
    ended = build_exit_record(found(*parts), WENT_WELL, False, NUMBERS)
    assert (
        ended is not None and ended.disruption is not None and ended.disruption.code == "kubernetes.taken_off"
    )


def test_a_pod_that_is_drained_lives_for_as_long_as_it_says_goodbye() -> None:
    """What of it is not seen as gone is not killed: it saves a checkpoint meanwhile."""
    leaving = pod("gc-7-1-x", conditions=DRAINED, **deleted_at(20))
    assert observe_run(found(leaving), (), True) is ObservedState.ALIVE
    over = pod("gc-7-1-x", "Failed", 143, conditions=DRAINED, **deleted_at(20))
    assert observe_run(found(over), (), True) is ObservedState.ENDED
    ended = build_exit_record(found(over), replace(WENT_BADLY, exit_code=143, stopped=True), False, NUMBERS)
    assert (
        ended is not None and ended.disruption is not None and ended.disruption.code == "kubernetes.taken_off"
    )
    parts = member(0, "Running"), member(1, "Running", conditions=DRAINED, **deleted_at(20))
    assert observe_run(found(*parts), (), True) is ObservedState.ENDED


def test_a_worker_that_leaves_while_the_launcher_runs_ends_the_gang() -> None:
    alive = pod("gc-7-1-launcher-x", labels={object_names.ROLE: object_names.LAUNCHER})
    assert observe_run(found(alive, worker("Running", None)), (), True) is ObservedState.ALIVE
    assert observe_run(found(alive, worker(**deleted_at(20))), (), True) is ObservedState.ENDED


def mpi_job(*conditions: str) -> Thing:
    told = [{"type": each, "status": "True"} for each in conditions]
    spec = {"mpiReplicaSpecs": {"Worker": {"replicas": 2}}}
    return {"kind": "MPIJob", "metadata": {"name": "gc-7-1"}, "spec": spec, "status": {"conditions": told}}


@pytest.mark.parametrize(
    ("conditions", "workers", "seen"),
    [
        (["Running"], 2, ObservedState.ALIVE),
        (["Running"], 1, ObservedState.ENDED),
        (["Running", "Succeeded"], 0, ObservedState.ALIVE),
        (["Failed"], 1, ObservedState.ALIVE),
    ],
)
def test_a_worker_that_is_no_more_is_missed_until_the_operator_tidies_up(
    conditions: list[str], workers: int, seen: ObservedState
) -> None:
    """A kubelet may have let it go before anybody looked, and the operator may be away itself."""
    alive = pod("gc-7-1-launcher-x", labels={object_names.ROLE: object_names.LAUNCHER})
    run = RunObjects(*NUMBERS, 3, mpi_job(*conditions), [alive, *[worker("Running", None)] * workers])
    assert observe_run(run, (), True) is seen


PULLS = {"name": "run", "image": "lab:1", "state": {"waiting": {"reason": "ImagePullBackOff"}}}


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (found(), None),
        (found(pod("gc-7-1-x", "Pending")), None),
        (RunObjects(*NUMBERS, 3, owner={"spec": {"suspend": True}}), "kubernetes.gated"),
        (RunObjects(*NUMBERS, 3, owner={"spec": {"runPolicy": {"suspend": True}}}), "kubernetes.gated"),
        (RunObjects(*NUMBERS, 3, owner={"spec": {"suspend": False}}), None),
        (found(pod("a", "Running"), pod("b", "Pending", states=[PULLS])), "kubernetes.image_not_pulled"),
    ],
)
def test_what_keeps_a_run_from_beginning_is_known(run: RunObjects, why: str | None) -> None:
    assert observe_run(run, (), False) is ObservedState.PENDING
    told = start_delay(run)
    assert (told[0] if told else None) == why


OURS = pod("gc-7-1-x")


@pytest.mark.parametrize(
    "change",
    [
        {"namespace": "default"},
        {"namespace": "gc-workspace-4"},
        {"labels": OURS["metadata"]["labels"] | {object_names.JOB: "seven"}},
        {"labels": OURS["metadata"]["labels"] | {object_names.JOB: "-7"}},
        {"labels": OURS["metadata"]["labels"] | {object_names.ATTEMPT: "1_0"}},
        {"labels": OURS["metadata"]["labels"] | {object_names.ATTEMPT: "01"}},
        {"labels": OURS["metadata"]["labels"] | {object_names.WORKSPACE: ""}},
        {"labels": None},
    ],
)
def test_what_only_looks_like_ours_is_not_ours(change: dict[str, Any]) -> None:
    other = OURS | {"metadata": OURS["metadata"] | change}
    assert group_by_attempt([other]) == {}
    assert list(group_by_attempt([OURS, other])) == [NUMBERS]


TOLD_TO_GO, FAILED, WELL = (
    RankExit(2, exit_code=143, signal=15),
    RankExit(2, exit_code=3),
    RankExit(2, exit_code=0),
)


@pytest.mark.parametrize(
    ("ranks", "is_lost"),
    [
        ([TOLD_TO_GO, replace(TOLD_TO_GO, rank=3)], True),
        ([TOLD_TO_GO, RankExit(0), RankExit(1), replace(TOLD_TO_GO, rank=3)], True),
        ([replace(TOLD_TO_GO, rank=rank) for rank in range(4)], False),
        ([TOLD_TO_GO, replace(FAILED, rank=3)], False),
        ([WELL, replace(TOLD_TO_GO, rank=3)], False),
        ([], False),
    ],
)
def test_ranks_that_never_said_how_they_ended_went_with_a_worker_that_is_gone(
    ranks: list[RankExit], is_lost: bool
) -> None:
    """As seen on three hosts: worker and launcher had gone, and the operator had cleaned up, before the next look."""
    truth = replace(WENT_BADLY, exit_code=143, signal=15, ranks=tuple(ranks))
    told = build_exit_record(after_its_launcher(205), truth, False, NUMBERS)
    assert told is not None
    assert (told.disruption.code if told.disruption else None) == (
        "interrupted.pod_deleted" if is_lost else None
    )


def after_its_launcher(code: int) -> RunObjects:
    """An MPIJob of two workers with two ranks each, which has failed."""
    workers = {"slotsPerWorker": 2, "mpiReplicaSpecs": {"Worker": {"replicas": 2}}}
    status = {"conditions": [{"type": "Failed", "status": "True"}]}
    return replace(found(launcher(code)), owner={"kind": "MPIJob", "spec": workers, "status": status})


@pytest.mark.parametrize(
    ("code", "ranks", "is_ours"),
    [(UNREACHED, (), True), (UNREACHED, (FAILED,), False), (1, (), False)],
)
def test_a_gang_whose_workers_never_all_came_up_waits_again(
    code: int, ranks: tuple[RankExit, ...], is_ours: bool
) -> None:
    truth = replace(WENT_BADLY, exit_code=code, ranks=ranks)
    told = build_exit_record(after_its_launcher(code), truth, False, NUMBERS)
    assert told is not None
    assert (told.disruption.code if told.disruption else None) == (
        "interrupted.start_deadline" if is_ours else None
    )


def test_a_host_that_is_shut_down_with_a_worker_of_a_gang_is_no_failure_of_the_job() -> None:
    """As seen when a host with launcher and worker started anew: sshd said 255, and nobody had deleted a pod."""
    run = found(launcher(143), worker())
    truth = replace(WENT_BADLY, exit_code=143, signal=15, stopped=True)
    told = build_exit_record(run, truth, False, NUMBERS)
    assert told is not None and told.disruption is not None
    assert told.disruption.code == "interrupted.pod_deleted"
