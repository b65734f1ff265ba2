"""What a cluster has of our attempts: one list of pods and of what made them, and of nodes that do not answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cluster.domain.kube.reading import conditions_of, is_true, moment
from worker.kube import names
from worker.kube.api import Api, Thing

OWNERS = ("Job", "MPIJob")
NO_GRACE = 1
"""Seconds; with 0 the API server would forget a pod of which something may still run."""
OVER = frozenset({"Succeeded", "Failed"})


@dataclass
class Found:
    """Of one attempt."""

    job: int
    attempt: int
    workspace: int
    owner: Thing | None = None
    """The Job or MPIJob; a notebook's pod is its own."""
    pods: list[Thing] = field(default_factory=list)

    @property
    def numbers(self) -> tuple[int, int]:
        return self.job, self.attempt

    @property
    def main(self) -> Thing | None:
        """The pod with the shim: an MPIJob's launcher, the pod with number 0 of an Indexed Job, else the only one."""
        return next((pod for pod in self.pods if is_main(pod)), None)

    @property
    def living(self) -> list[Thing]:
        return [pod for pod in self.pods if not is_over(pod)]


@dataclass(frozen=True)
class Look:
    """At the whole cluster; `taken` is when it was begun, in steady seconds."""

    taken: float
    runs: Mapping[tuple[int, int], Found]
    silent: frozenset[str]
    """Nodes of which nobody knows what runs on them."""


def look(api: Api, installation: str, taken: float, namespace: str = "", **labels: str) -> Look:
    """Raises NoAnswer. `labels` and `namespace` narrow it down to one attempt."""
    wanted = names.selector(installation=installation, part=names.RUN, **labels)
    things = [thing for kind in (*OWNERS, "Pod") for thing in api.list_all(kind, wanted, namespace).things]
    silent = frozenset(
        node["metadata"]["name"]
        for node in api.list_all("Node").things
        if not is_true(conditions_of(node).get("Ready"))
    )
    return Look(taken, gather(things), silent)


def gather(things: Sequence[Thing]) -> dict[tuple[int, int], Found]:
    """What has no numbers, or is not where its numbers say, is not ours, whatever its labels say."""
    runs: dict[tuple[int, int], Found] = {}
    for thing in things:
        if (numbers := numbers_of(thing)) is None:
            continue
        job, attempt, workspace = numbers
        found = runs.setdefault((job, attempt), Found(job, attempt, workspace))
        if thing["kind"] == "Pod":
            found.pods.append(thing)
        else:
            found.owner = thing
    return runs


def numbers_of(thing: Thing) -> tuple[int, int, int] | None:
    """Job, attempt and workspace, where its labels are as we write them and its namespace is that workspace's."""
    about = thing["metadata"]
    told = [(about.get("labels") or {}).get(key, "") for key in (names.JOB, names.ATTEMPT, names.WORKSPACE)]
    if not all(number.isdecimal() and number == str(int(number)) for number in told):
        return None
    job, attempt, workspace = map(int, told)
    return (job, attempt, workspace) if about.get("namespace") == names.namespace_of(workspace) else None


def is_main(pod: Thing) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return not worker_of_mpi(pod) and str(labels.get(names.INDEX, "0")) == "0"


def is_over(pod: Thing) -> bool:
    return (pod.get("status") or {}).get("phase") in OVER


def is_running(pod: Thing) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running"


def node_of(pod: Thing) -> str:
    return str((pod.get("spec") or {}).get("nodeName", ""))


def is_taken(pod: Thing) -> bool:
    """By a node, whose kubelet may have begun it already."""
    return bool(node_of(pod))


def is_leaving(thing: Thing) -> bool:
    return bool(thing["metadata"].get("deletionTimestamp"))


def is_ending_now(pod: Thing) -> bool:
    """It has been deleted with as little patience as there is."""
    grace = pod["metadata"].get("deletionGracePeriodSeconds")
    return is_leaving(pod) and (grace or 0) <= NO_GRACE


def exit_of(pod: Thing) -> Thing | None:
    """How the container ended: `exitCode`, `reason`, `message`; None where it has not, or nobody knows."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if ended := (status.get("state") or {}).get("terminated"):
            return dict(ended)
    return None


def asked_to_leave(pod: Thing) -> datetime | None:
    """When somebody deleted it: what stands there is when its grace is over. To the second; aware UTC."""
    about = pod["metadata"]
    if not is_leaving(pod):
        return None
    grace = timedelta(seconds=about.get("deletionGracePeriodSeconds") or 0)
    return moment(about["deletionTimestamp"]) - grace


def was_tidied_away(pod: Thing, main: Thing | None) -> bool:
    """The MPI operator takes workers away once the launcher has ended; that ends nothing any more.

    To the second: one that was deleted in the very second of the launcher's end counts as taken away.
    """
    ended = (exit_of(main) or {}).get("finishedAt") if main is not None else None
    asked = asked_to_leave(pod)
    return bool(ended) and asked is not None and worker_of_mpi(pod) and asked > moment(ended)


def was_replaced(found: Found) -> bool:
    """A worker that is younger than the launcher stands for one that was lost: its ranks are gone with that."""
    main = found.main
    if main is None:
        return False
    born = main["metadata"]["creationTimestamp"]
    return any(pod["metadata"]["creationTimestamp"] > born for pod in found.pods if worker_of_mpi(pod))


def worker_of_mpi(pod: Thing) -> bool:
    return str((pod["metadata"].get("labels") or {}).get(names.ROLE, names.LAUNCHER)) != names.LAUNCHER


def failed_by_itself(pod: Thing) -> bool:
    """Its program ended with a bad exit code while nobody took it away; a worker's sshd is no program of the job."""
    ended = exit_of(pod)
    if worker_of_mpi(pod) and (ended or {}).get("reason") != "OOMKilled":
        return False
    disturbed = is_true(conditions_of(pod).get("DisruptionTarget")) or (pod.get("status") or {}).get("reason")
    return bool(ended and ended.get("exitCode")) and not disturbed and not is_leaving(pod)
