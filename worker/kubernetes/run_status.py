"""Decides from a snapshot whether an attempt is pending, alive or ended, how it ended, and what disrupted it.

The functions only judge what the API server listed. The state of pods on a silent node is unknown.
"""

import signal
from collections.abc import Collection, Set
from dataclasses import replace
from typing import Any

from cluster.domain.jobs.attempts import START_DEADLINE, ObservedState
from cluster.domain.jobs.exits import Disruption, ExitRecord
from cluster.domain.kubernetes.api_objects import conditions_of, is_condition_true
from cluster.domain.kubernetes.kubelet_messages import reason_of_pod
from cluster.domain.kubernetes.reasons import SchedulingGated, kubernetes_reason_data
from worker.inside.shim_gang import UNREACHED
from worker.kubernetes.snapshot import (
    RunObjects,
    container_exit,
    has_failed_by_itself,
    has_replaced_worker,
    is_bound,
    is_deleting,
    is_mpi_worker,
    is_pod_over,
    is_pod_running,
    is_shim_pod,
    pod_node,
    was_removed_by_operator,
)

KILLED = 137


def observe_run(found: RunObjects | None, silent: Collection[str], begun: bool) -> ObservedState:
    """The observed state of one attempt in a snapshot. On a silent node it is unknown."""
    if found is None:
        return ObservedState.ENDED if begun else ObservedState.ABSENT
    if any(pod_node(pod) in silent for pod in found.live_pods) and not (
        begun and has_whole_gang_succeeded(found)
    ):
        return ObservedState.UNKNOWN
    main = found.shim_pod
    if begun:
        is_whole = main is not None and not is_pod_over(main) and find_disruption(found) is None
        return ObservedState.ALIVE if is_whole else ObservedState.ENDED
    return ObservedState.ABSENT if has_failed_to_start(found) else ObservedState.PENDING


def has_live_pod(found: RunObjects, silent: Collection[str]) -> bool:
    """Whether a pod of the run is alive on a node that answers."""
    return any(is_pod_running(pod) and pod_node(pod) not in silent for pod in found.live_pods)


def count_remaining_pods(found: RunObjects, silent: Set[str], given_up: Collection[str]) -> int:
    """How many pods run or may run. A pod on a silent node counts unless the node is in `given_up`."""
    gone = silent & {node.lower() for node in given_up}
    return sum(
        (is_pod_running(pod) or is_bound(pod)) and pod_node(pod) not in gone for pod in found.live_pods
    )


def has_bound_pod(found: RunObjects, silent: Collection[str]) -> bool:
    """Whether a pod is bound to a node that answers; the kubelet reports a program only a second after its start."""
    return any(is_bound(pod) and pod_node(pod) not in silent for pod in found.live_pods)


def has_failed_to_start(found: RunObjects) -> bool:
    """Whether a pod ended, or Kubernetes gave up its owner, before the shim began."""
    main = found.shim_pod
    if main is not None and (is_pod_over(main) or is_deleting(main)):
        return True
    return found.owner is not None and is_owner_finished(found)


def is_owner_finished(found: RunObjects) -> bool:
    assert found.owner is not None
    conditions = conditions_of(found.owner)
    return any(is_condition_true(conditions.get(each)) for each in ("Failed", "Complete", "Succeeded"))


def find_disruption(found: RunObjects) -> Disruption | None:
    """Returns what disrupted a pod of the run; None if all pods are there or ended by themselves."""
    pods = [pod for pod in found.pods if not was_removed_by_operator(pod, found.shim_pod)]
    for pod in pods:
        # The pod with the shim gets its grace time for a checkpoint, whoever drains its node.
        has_left = is_pod_over(pod) or (is_deleting(pod) and not is_shim_pod(pod))
        said = reason_of_pod(pod) if has_left else None
        if said is not None and said.code != "kubernetes.out_of_memory":
            return Disruption(said.code, kubernetes_reason_data(said))
    if has_replaced_worker(found) or is_missing_workers(found):
        return Disruption("interrupted.pod_deleted")
    gone = [pod for pod in pods if is_pod_over(pod) and not is_shim_pod(pod)]
    failed = [pod for pod in gone if has_failed_by_itself(pod)]
    return None if failed or not gone or have_all_succeeded(gone) else Disruption("interrupted.pod_deleted")


def is_missing_workers(found: RunObjects) -> bool:
    """Whether the run is an MPIJob that has not ended and has lost a worker. Workers are
    created before the launcher.
    """
    owner = found.owner
    if owner is None or owner["kind"] != "MPIJob" or found.shim_pod is None or is_owner_finished(found):
        return False
    parts = (owner.get("spec") or {}).get("mpiReplicaSpecs") or {}
    wanted = (parts.get("Worker") or {}).get("replicas") or 0
    return sum(map(is_mpi_worker, found.pods)) < wanted


def have_all_succeeded(pods: list[dict[str, Any]]) -> bool:
    return all((pod.get("status") or {}).get("phase") == "Succeeded" for pod in pods)


def start_failure(found: RunObjects) -> tuple[str, dict[str, Any]]:
    """The code and data of a failed start: the reason that Kubernetes gives, or the pod's last output."""
    main = found.shim_pod
    said = reason_of_pod(main) if main is not None else None
    if said is not None:
        return said.code, kubernetes_reason_data(said)
    ended = container_exit(main) if main is not None else None
    words = str((ended or {}).get("message") or "the pod ended before the shim began")
    return "start.failed", {"reason": " ".join(words.split())[-400:]}


def start_delay(found: RunObjects | None) -> tuple[str, dict[str, Any]] | None:
    """The code and data of what delays the start. None if the pod starts normally."""
    for pod in found.pods if found else ():
        if said := reason_of_pod(pod):
            return said.code, kubernetes_reason_data(said)
    spec = (found.owner or {}).get("spec") or {} if found else {}
    is_held = spec.get("suspend") or (spec.get("runPolicy") or {}).get("suspend")
    return (SchedulingGated.code, {}) if is_held else None


def build_exit_record(
    found: RunObjects | None, truth: ExitRecord | None, was_asked: bool, numbers: tuple[int, int]
) -> ExitRecord | None:
    """Combines the shim's record with what Kubernetes reports. `was_asked`: the scheduler wanted the run to stop."""
    main = found.shim_pod if found else None
    ended = container_exit(main) if main is not None else None
    taken = find_disruption(found) if found else None
    blank = ExitRecord(*numbers, numbers[1])
    if truth is None:
        if ended and ended.get("reason") == "OOMKilled":
            return replace(blank, exit_code=KILLED, out_of_memory=True)
        if taken is None and ended is None and not was_asked:
            taken = Disruption("interrupted.pod_deleted")
        return replace(blank, disruption=taken) if taken else None
    if ended is not None:
        truth = replace(truth, executor_exit_code=ended.get("exitCode"))
        if ended.get("reason") == "OOMKilled" and truth.exit_code == KILLED:
            truth = replace(truth, out_of_memory=True)
    if was_asked or truth.timed_out or is_run_complete(found, truth):
        return truth
    if truth.stopped and found and any(map(has_failed_by_itself, member_pods(found))):
        # Another pod's program failed and Kubernetes ended the rest, so that failure is the end.
        return replace(truth, stopped=False, executor_exit_code=None)
    if truth.stopped:
        return replace(truth, disruption=taken or Disruption("interrupted.pod_deleted"))
    if taken is None and found and are_ranks_missing(found, truth):
        taken = Disruption("interrupted.pod_deleted")
    if taken is None and found and has_reached_no_worker(found, truth):
        taken = Disruption(START_DEADLINE)
    return replace(truth, disruption=taken)


def are_ranks_missing(found: RunObjects, truth: ExitRecord) -> bool:
    """Whether workers of an MPIJob are gone and some of their ranks have not recorded how they ended.

    mpirun then ended the other ranks, and none of them had failed by itself.
    """
    told = [rank.signal for rank in truth.ranks if (rank.exit_code, rank.signal) != (None, None)]
    return len(told) < expected_ranks(found) and set(told) == {signal.SIGTERM}


def has_reached_no_worker(found: RunObjects, truth: ExitRecord) -> bool:
    """Whether workers of an MPIJob never started. Its launcher waited for them and started no rank."""
    return bool(expected_ranks(found)) and truth.exit_code == UNREACHED and not truth.ranks


def expected_ranks(found: RunObjects) -> int:
    """The number of ranks of an MPIJob; 0 if the run is none."""
    spec = found.owner["spec"] if found.owner and found.owner.get("kind") == "MPIJob" else {}
    workers = (spec.get("mpiReplicaSpecs") or {}).get("Worker") or {}
    return int(spec.get("slotsPerWorker") or 0) * int(workers.get("replicas") or 0)


def is_run_complete(found: RunObjects | None, truth: ExitRecord) -> bool:
    """Whether the run succeeded by itself. What happens to its pods afterwards does not change that.

    Pod 0 of an Indexed Job records only the end of its own ranks.
    """
    parts = rank_pods(found) if found else []
    return truth.exit_code == 0 and not truth.stopped and have_all_succeeded(parts)


def has_whole_gang_succeeded(found: RunObjects) -> bool:
    """Whether all pods that record the end of their ranks have succeeded; other pods cannot change the result."""
    return has_shim_pod_succeeded(found) and have_all_succeeded(rank_pods(found))


def rank_pods(found: RunObjects) -> list[dict[str, Any]]:
    """The pods, other than the one with the shim, that record how their ranks ended."""
    return [pod for pod in member_pods(found) if not is_mpi_worker(pod)]


def member_pods(found: RunObjects) -> list[dict[str, Any]]:
    return [pod for pod in found.pods if not is_shim_pod(pod)]


def is_shim_pod_final(found: RunObjects | None) -> bool:
    """Whether the pod with the shim has ended or is being deleted. A missing pod may only be younger than the
    snapshot.
    """
    main = found.shim_pod if found else None
    return main is not None and (is_pod_over(main) or is_deleting(main))


def is_exit_final(found: RunObjects | None) -> bool:
    """Whether a later snapshot cannot change the run's end. It can for a gang, whose other pods may end later."""
    if (
        found is None
        or len(found.pods) != 1
        or found.shim_pod is None
        or container_exit(found.shim_pod) is None
    ):
        return False
    return found.owner is not None and is_one_pod(found.owner)


def has_shim_pod_succeeded(found: RunObjects) -> bool:
    """Whether the pod with the shim has succeeded."""
    return found.shim_pod is not None and have_all_succeeded([found.shim_pod])


def has_service(found: RunObjects) -> bool:
    """Whether the run may have a service, as notebooks and pods with DNS names do. True if the owner is unknown."""
    owner = found.owner
    return owner is None or (owner["kind"] == "Job" and not is_one_pod(owner))


def is_one_pod(owner: dict[str, Any]) -> bool:
    return bool(owner["kind"] == "Job" and owner["spec"].get("completionMode") != "Indexed")
