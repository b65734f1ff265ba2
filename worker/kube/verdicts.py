"""What a look at the cluster says of one attempt: whether it goes on, how it ended, and who took it away.

Pure judgements over what the API server listed; of a node that is silent nobody knows anything.
"""

import signal
from collections.abc import Collection, Set
from dataclasses import replace
from typing import Any

from cluster.domain.attempts import START_DEADLINE, Seen
from cluster.domain.exits import ExitTruth, Taken
from cluster.domain.kube.kubelet_said import reason_of_pod
from cluster.domain.kube.pod_reasons import Gated
from cluster.domain.kube.reading import conditions_of, is_true
from cluster.domain.kube.reasons import data_of
from worker.inside.reach import UNREACHED
from worker.kube.sight import (
    Found,
    exit_of,
    failed_by_itself,
    is_leaving,
    is_main,
    is_over,
    is_running,
    is_taken,
    node_of,
    was_replaced,
    was_tidied_away,
    worker_of_mpi,
)

KILLED = 137


def judge(found: Found | None, silent: Collection[str], begun: bool) -> Seen:
    """What a look says of one attempt; of a node that is silent nobody knows anything."""
    if found is None:
        return Seen.GONE if begun else Seen.ABSENT
    if any(node_of(pod) in silent for pod in found.living) and not (begun and is_well_over(found)):
        return Seen.UNKNOWN
    main = found.main
    if begun:
        is_whole = main is not None and not is_over(main) and lost_member(found) is None
        return Seen.ALIVE if is_whole else Seen.GONE
    return Seen.ABSENT if has_failed(found) else Seen.AWAITED


def is_alive(found: Found, silent: Collection[str]) -> bool:
    """Whether anything of it runs on a node that answers."""
    return any(is_running(pod) and node_of(pod) not in silent for pod in found.living)


def count_left(found: Found, silent: Set[str], given_up: Collection[str]) -> int:
    """How many of its pods run, or may: of a silent node nobody knows, and then only giving it up is an answer."""
    gone = silent & {node.lower() for node in given_up}
    return sum((is_running(pod) or is_taken(pod)) and node_of(pod) not in gone for pod in found.living)


def is_beginning(found: Found, silent: Collection[str]) -> bool:
    """Whether a node that answers has taken some of it: its kubelet tells of a program a second after it begins."""
    return any(is_taken(pod) and node_of(pod) not in silent for pod in found.living)


def has_failed(found: Found) -> bool:
    """Before its shim began: its pod has ended, or what makes its pods has given up."""
    main = found.main
    if main is not None and (is_over(main) or is_leaving(main)):
        return True
    return found.owner is not None and is_given_up(found)


def is_given_up(found: Found) -> bool:
    assert found.owner is not None
    conditions = conditions_of(found.owner)
    return any(is_true(conditions.get(each)) for each in ("Failed", "Complete", "Succeeded"))


def lost_member(found: Found) -> Taken | None:
    """Who of the gang, or whether the only one, was taken away; None where all are there or ended by themselves."""
    pods = [pod for pod in found.pods if not was_tidied_away(pod, found.main)]
    for pod in pods:
        # The one with the shim has its grace to save a checkpoint, whoever empties its node.
        has_left = is_over(pod) or (is_leaving(pod) and not is_main(pod))
        said = reason_of_pod(pod) if has_left else None
        if said is not None and said.code != "kubernetes.out_of_memory":
            return Taken(said.code, data_of(said))
    if was_replaced(found) or lacks_workers(found):
        return Taken("interrupted.pod_deleted")
    gone = [pod for pod in pods if is_over(pod) and not is_main(pod)]
    failed = [pod for pod in gone if failed_by_itself(pod)]
    return None if failed or not gone or is_finished(gone) else Taken("interrupted.pod_deleted")


def lacks_workers(found: Found) -> bool:
    """Of an MPIJob that has not ended: its workers were made before its launcher, and one of them is gone."""
    owner = found.owner
    if owner is None or owner["kind"] != "MPIJob" or found.main is None or is_given_up(found):
        return False
    parts = (owner.get("spec") or {}).get("mpiReplicaSpecs") or {}
    wanted = (parts.get("Worker") or {}).get("replicas") or 0
    return sum(map(worker_of_mpi, found.pods)) < wanted


def is_finished(pods: list[dict[str, Any]]) -> bool:
    return all((pod.get("status") or {}).get("phase") == "Succeeded" for pod in pods)


def why_not(found: Found) -> tuple[str, dict[str, Any]]:
    """A code with its data: what Kubernetes says of the pod, or its last words."""
    main = found.main
    said = reason_of_pod(main) if main is not None else None
    if said is not None:
        return said.code, data_of(said)
    ended = exit_of(main) if main is not None else None
    words = str((ended or {}).get("message") or "the pod ended before the shim began")
    return "start.failed", {"reason": " ".join(words.split())[-400:]}


def why_awaited(found: Found | None) -> tuple[str, dict[str, Any]] | None:
    """What keeps it from beginning, in our words; None where it comes up as it should."""
    for pod in found.pods if found else ():
        if said := reason_of_pod(pod):
            return said.code, data_of(said)
    spec = (found.owner or {}).get("spec") or {} if found else {}
    is_held = spec.get("suspend") or (spec.get("runPolicy") or {}).get("suspend")
    return (Gated.code, {}) if is_held else None


def end_of(
    found: Found | None, truth: ExitTruth | None, was_asked: bool, numbers: tuple[int, int]
) -> ExitTruth | None:
    """`was_asked`: the scheduler wanted it to stop."""
    main = found.main if found else None
    ended = exit_of(main) if main is not None else None
    taken = lost_member(found) if found else None
    blank = ExitTruth(*numbers, numbers[1])
    if truth is None:
        if ended and ended.get("reason") == "OOMKilled":
            return replace(blank, exit_code=KILLED, out_of_memory=True)
        if taken is None and ended is None and not was_asked:
            taken = Taken("interrupted.pod_deleted")
        return replace(blank, taken=taken) if taken else None
    if ended is not None:
        truth = replace(truth, executor_exit_code=ended.get("exitCode"))
        if ended.get("reason") == "OOMKilled" and truth.exit_code == KILLED:
            truth = replace(truth, out_of_memory=True)
    if was_asked or truth.timed_out or is_complete(found, truth):
        return truth
    if truth.stopped and found and any(map(failed_by_itself, others(found))):
        # A member's program failed, and Kubernetes ended the rest: that failure is the end.
        return replace(truth, stopped=False, executor_exit_code=None)
    if truth.stopped:
        return replace(truth, taken=taken or Taken("interrupted.pod_deleted"))
    if taken is None and found and has_lost_ranks(found, truth):
        taken = Taken("interrupted.pod_deleted")
    if taken is None and found and has_reached_nobody(found, truth):
        taken = Taken(START_DEADLINE)
    return replace(truth, taken=taken)


def has_lost_ranks(found: Found, truth: ExitTruth) -> bool:
    """Of an MPIJob whose workers have gone before anybody looked: some ranks never said how they ended.

    They went with their pod; mpirun then ended the others, and none had failed by itself.
    """
    told = [rank.signal for rank in truth.ranks if (rank.exit_code, rank.signal) != (None, None)]
    return len(told) < ranks_of(found) and set(told) == {signal.SIGTERM}


def has_reached_nobody(found: Found, truth: ExitTruth) -> bool:
    """Of an MPIJob some of whose workers never came up: its launcher waited for them, and began no rank."""
    return bool(ranks_of(found)) and truth.exit_code == UNREACHED and not truth.ranks


def ranks_of(found: Found) -> int:
    """Of its MPIJob; 0 where it is none."""
    spec = found.owner["spec"] if found.owner and found.owner.get("kind") == "MPIJob" else {}
    workers = (spec.get("mpiReplicaSpecs") or {}).get("Worker") or {}
    return int(spec.get("slotsPerWorker") or 0) * int(workers.get("replicas") or 0)


def is_complete(found: Found | None, truth: ExitTruth) -> bool:
    """It came to a good end by itself: what becomes of its pods afterwards takes nothing of that away.

    Number 0 of an Indexed Job speaks for its own part alone.
    """
    parts = parts_of(found) if found else []
    return truth.exit_code == 0 and not truth.stopped and is_finished(parts)


def is_well_over(found: Found) -> bool:
    """All that speak for its ranks have come to a good end: whatever is silent has nothing to add."""
    return has_succeeded(found) and is_finished(parts_of(found))


def parts_of(found: Found) -> list[dict[str, Any]]:
    """Those that say themselves how their ranks ended, besides the one with the shim."""
    return [pod for pod in others(found) if not worker_of_mpi(pod)]


def others(found: Found) -> list[dict[str, Any]]:
    return [pod for pod in found.pods if not is_main(pod)]


def is_final(found: Found | None) -> bool:
    """Its pod is over or leaves, which it never takes back; what is missing may only have been made since."""
    main = found.main if found else None
    return main is not None and (is_over(main) or is_leaving(main))


def says_all(found: Found | None) -> bool:
    """Whether a look that shows its end has nothing to learn from another: of a gang more pods may follow."""
    if found is None or len(found.pods) != 1 or found.main is None or exit_of(found.main) is None:
        return False
    return found.owner is not None and is_one_pod(found.owner)


def has_succeeded(found: Found) -> bool:
    """The one with the shim came to a good end."""
    return found.main is not None and is_finished([found.main])


def has_service(found: Found) -> bool:
    """A notebook, or pods that know each other by name; also where nobody knows any more what it was."""
    owner = found.owner
    return owner is None or (owner["kind"] == "Job" and not is_one_pod(owner))


def is_one_pod(owner: dict[str, Any]) -> bool:
    return bool(owner["kind"] == "Job" and owner["spec"].get("completionMode") != "Indexed")
