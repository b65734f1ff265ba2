"""Runs attempts as Jobs, MPIJobs and pods of a Kubernetes cluster, with the shim as the program of the first pod.

All objects of an attempt are named `gc-<job>-<attempt>` in its workspace's namespace, so that Kubernetes refuses
second ones. Their labels name the attempt, so that a new scheduler finds them. Kubernetes restarts nothing: if it
takes a pod away, the job gets a new attempt. A file beside the plan tells the shim to end, for which neither API
server nor kubelet is needed. Only a run that does not react to it is deleted.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.jobs.exits import ExitRecord, parse_exit_record
from cluster.domain.jobs.unix_ids import DEFAULT_UNIX_IDS, JobUnixIds
from cluster.domain.notebooks import jupyter_server
from worker.executors import container_folders
from worker.executors.attempt_folder import check_plan_ids
from worker.executors.contract import (
    ExecutorUnreachable,
    Handle,
    NotStarted,
    RunningAttempt,
    RunStatus,
    StartPlan,
    StartUnanswered,
    start_problem_of,
)
from worker.executors.kubernetes_removal import (
    STOP_FILE,
    remove_orphan_service,
    remove_owner,
    remove_run,
    write_stop_request,
)
from worker.executors.kubernetes_run_spec import (
    RuntimeConfigMaps,
    build_run_spec,
    gang_kind,
    passwd_text,
    pod_user,
    with_rdma,
)
from worker.executors.kubernetes_shared_objects import SharedObjectCreator, UnusedObjectRemover
from worker.inside import shim_files
from worker.kubernetes import object_names, snapshot
from worker.kubernetes.api_client import ApiRefused, ApiUnreachable, KubernetesApi, ObjectExists
from worker.kubernetes.manifests.run_spec import GangKind, RunSpec
from worker.kubernetes.manifests.workloads import run_objects
from worker.kubernetes.node_assignment import node_patches
from worker.kubernetes.run_status import (
    build_exit_record,
    count_remaining_pods,
    has_bound_pod,
    has_failed_to_start,
    has_live_pod,
    has_service,
    has_shim_pod_succeeded,
    is_exit_final,
    is_shim_pod_final,
    observe_run,
    start_delay,
    start_failure,
)
from worker.kubernetes.snapshot import LEAST_GRACE_SECONDS, ClusterSnapshot, RunObjects

FRESH_SECONDS = 1.0
"""The greatest age of a snapshot. An object that it lacks is gone only if the list began
after the object was known.
"""
FRESH_SHARE = 4.0
"""A snapshot may also be as old as this many times the duration of its list. With thousands of runs, listing then
costs a fifth of a core.
"""
FORCE_SECONDS = 1.0
MEMBERS_SECONDS = 10.0
"""The time for which other pods of a gang may go on after the pod with the shim has ended without an error."""
PAUSE_SECONDS = 0.05
NEVER = float("-inf")
REMEMBERED_SECONDS = 60.0
MOST_GPUS, LONGEST_NAME = 64, 253
"""The largest number of GPUs in one pod, and the greatest length of a name in Kubernetes."""
AttemptKey = tuple[int, int]
"""The numbers of job and attempt."""
EMPTY_SNAPSHOT = ClusterSnapshot(NEVER, {}, frozenset())


class KubernetesExecutor:
    """`storage` is the root of all attempt folders, at the same path on every node; `exported` is `server:/folder`.

    `read_installation` returns the installation id that marks our objects.
    """

    capabilities = ExecutorKind.KUBERNETES.capabilities

    def __init__(
        self,
        api: KubernetesApi,
        read_installation: Callable[[], str],
        storage: Path,
        runtime: Path,
        exported: str = "",
        fresh_seconds: float = FRESH_SECONDS,
        job_ids: JobUnixIds = DEFAULT_UNIX_IDS,
    ) -> None:
        self.job_ids = job_ids
        self.api = api
        self.storage = storage
        self.exported = exported
        self.runtime = RuntimeConfigMaps(runtime)
        self.shared_objects = SharedObjectCreator(api, self.runtime)
        self.unused_objects = UnusedObjectRemover(api, self.shared_objects)
        self.read_installation = read_installation
        self._looking = threading.Lock()
        self._last = EMPTY_SNAPSHOT
        self.fresh_seconds = self._fresh = fresh_seconds
        self._made: dict[AttemptKey, float] = {}
        self._begun: dict[AttemptKey, float] = {}
        self._ended: dict[AttemptKey, float] = {}
        """The steady seconds at which each attempt was made, at which its start marker was first read, and at which
        it ended.
        """
        self._ends: dict[AttemptKey, ExitRecord] = {}

    @cached_property
    def installation(self) -> str:
        """The installation id is read when it is first needed, so that the service can start while its database is
        away.
        """
        return self.read_installation()

    def find_notebook(self, folder: Path) -> str:
        """The address of its service, which leads to the pod while Jupyter answers."""
        name = object_names.run_name(int(folder.parent.name), int(folder.name))
        namespace = object_names.workspace_namespace(object_names.workspace_of_folder(folder))
        try:
            service = self.api.get("Service", name, namespace)
        except (ApiUnreachable, ApiRefused):
            return ""
        address = service["spec"].get("clusterIP", "") if service else ""
        return f"{address}:{jupyter_server.PORT}" if address else ""

    def start(self, plan: StartPlan) -> Handle | None:
        """Returns None if the objects exist and the shim has not begun."""
        if not plan.container.image:
            raise NotStarted("start.no_default_image")
        check_plan_ids(plan, self.job_ids)
        try:
            run = build_run_spec(plan, self.installation, self.storage, self.exported, self.runtime)
            run = with_rdma(run, self.recent_snapshot().rdma_nodes if run.has_gpus else ())
            self.prepare_run(plan, run)
            if container_folders.read_start_marker(plan.folder) is None:
                self.shared_objects.ensure(run)
                self.ensure_objects(plan, run)
        except ApiUnreachable as silence:
            raise StartUnanswered(silence.code, **silence.data) from silence
        except ApiRefused as refusal:
            raise NotStarted("kubernetes.refused", said=refusal.message) from refusal
        except (OSError, ValueError) as error:
            raise start_problem_of(str(error), getattr(error, "errno", None)) from error
        started = container_folders.read_start_marker(plan.folder)
        if started is container_folders.START_PREVENTED:
            raise NotStarted("start.forestalled")
        return None if started is None else pod_handle(plan.folder, started)

    def prepare_run(self, plan: StartPlan, run: RunSpec) -> None:
        """Creates the folders before any pod. For a gang of several pods it also copies the code, because they start
        together.
        """
        program, user, gang = plan.program, pod_user(plan.program), gang_kind(plan.placement)
        more: dict[str, Any] = {"stop": STOP_FILE}
        if gang in (GangKind.MPI, GangKind.INDEXED) and program.code:
            mounts = plan.container.mounts
            source = next(mount.source for mount in mounts if mount.target == program.code)
            more["code"] = None
        container_folders.prepare_folders(plan, user, more)
        if "code" in more:
            container_folders.ensure_code_copy(plan, source, user)
        if gang is GangKind.MPI:
            container_folders.ensure_shared_file(plan, "passwd", passwd_text(user))

    def ensure_objects(self, plan: StartPlan, run: RunSpec) -> None:
        """Creates the attempt's objects. Raises NotStarted if objects of this name are not ours, or ended before a
        shim began; the next call then creates new ones.
        """
        is_there = False
        for thing in run_objects(run):
            try:
                self.api.create(thing)
            except ObjectExists:
                is_there = True
        self._made[object_names.attempt_key_of_folder(plan.folder)] = time.monotonic()
        if not is_there:
            return
        if (found := self.find_run(plan.folder)) is None:
            name = object_names.run_name(plan.job, plan.attempt)
            raise NotStarted("start.failed", reason=f"{name} is there already, and is not this attempt")
        if has_failed_to_start(found) and container_folders.read_start_marker(plan.folder) is None:
            remove_run(self.api, found, LEAST_GRACE_SECONDS)
            code, data = start_failure(found)
            raise NotStarted(code, **data)

    def prevent_start(self, folder: Path) -> bool:
        if not container_folders.prevent_container_start(folder):
            return False
        with suppress(ApiUnreachable, ApiRefused):
            if (found := self.find_run(folder)) is not None:
                remove_run(self.api, found)
        return True

    def find_run(self, folder: Path) -> RunObjects | None:
        """Asks the API server for the objects now. Raises ApiUnreachable."""
        return self.read_attempt_snapshot(folder).runs.get(object_names.attempt_key_of_folder(folder))

    def read_attempt_snapshot(self, folder: Path) -> ClusterSnapshot:
        job, attempt = object_names.attempt_key_of_folder(folder)
        namespace = object_names.workspace_namespace(object_names.workspace_of_folder(folder))
        labels = {"job": str(job), "attempt": str(attempt)}
        return snapshot.read_snapshot(self.api, self.installation, time.monotonic(), namespace, **labels)

    def recent_snapshot(self) -> ClusterSnapshot:
        """A snapshot that is recent enough. One list for all runs is cheaper than one request for each."""
        with self._looking:
            now = time.monotonic()
            if now - self._last.read_at > self._fresh:
                self._last = snapshot.read_snapshot(self.api, self.installation, now)
                self.assign_nodes()
                self._fresh = max(self.fresh_seconds, FRESH_SHARE * (time.monotonic() - now))
            return self._last

    def assign_nodes(self) -> None:
        """Assigns nodes to pods that have none. A failed assignment is repeated after the next snapshot."""
        with suppress(ApiUnreachable, ApiRefused):
            for found in self._last.runs.values():
                for pod, place in node_patches(found):
                    about = pod["metadata"]
                    self.api.patch("Pod", about["name"], about["namespace"], place)

    def read_status(self, folder: Path) -> RunStatus:
        """Reads the status from the shared snapshot, so that many attempts need no requests of their own."""
        started, numbers = (
            container_folders.read_start_marker(folder),
            object_names.attempt_key_of_folder(folder),
        )
        if started is None and not is_reachable_folder(self.storage / "workspaces"):
            return RunStatus(
                ObservedState.UNKNOWN
            )  # The storage is away, and the start marker that would show that it has begun is on it.
        begun, made = has_shim_started(started), self._made.get(numbers, NEVER)
        known = self._begun.setdefault(numbers, time.monotonic()) if begun else NEVER
        handle = pod_handle(folder, started) if begun else None
        try:
            last = self.recent_snapshot()
        except (ApiUnreachable, ApiRefused):
            return RunStatus(ObservedState.UNKNOWN, handle)
        found = last.runs.get(numbers)
        seen = observe_run(found, last.silent_nodes, begun)
        if last.read_at < made or (last.read_at < known and not is_shim_pod_final(found)):
            # An object that the snapshot lacks may have been created after it.
            seen = {
                ObservedState.ENDED: ObservedState.ALIVE,
                ObservedState.ABSENT: ObservedState.PENDING,
            }.get(seen, seen)
        if seen is ObservedState.PENDING and (why := start_delay(found)):
            return RunStatus(seen, start_problem=NotStarted(why[0], **why[1]))
        return RunStatus(seen, handle)

    def list_running(self) -> list[RunningAttempt]:
        last = self._fresh_look()
        running = []
        for found in last.runs.values():
            # The path is made of the numbers, because anybody with rights in the cluster may have written other
            # labels.
            folder = object_names.attempt_path(self.storage, found.workspace, *found.key)
            begun = read_shim_marker(folder)
            if has_live_pod(found, last.silent_nodes) or (begun and has_bound_pod(found, last.silent_nodes)):
                running.append(RunningAttempt(*found.key, folder, pod_handle(folder, begun)))
        return running

    def _fresh_look(self) -> ClusterSnapshot:
        with raising_unreachable(), self._looking:
            self._last = snapshot.read_snapshot(self.api, self.installation, time.monotonic())
            return self._last

    def read_exit_record(self, folder: Path) -> ExitRecord | None:
        """Combines the shim's exit record with the container's exit code. A run that others deleted has not ended by
        itself.

        The answer is kept, so that objects that we delete afterwards do not count as deleted by others.
        """
        numbers = object_names.attempt_key_of_folder(folder)
        if numbers in self._ends:
            return self._ends[numbers]
        found = self._last.runs.get(numbers)
        if not is_exit_final(found):
            with raising_unreachable():
                found = self.find_run(folder)
        content = shim_files.read_untrusted_file(str(folder / "control"), "exit.json")
        truth = None if content is None else parse_exit_record(content)
        was_asked = (folder / "control" / STOP_FILE).exists()
        if (end := build_exit_record(found, truth, was_asked, numbers)) is not None:
            self._ends[numbers] = end
        return end

    def stop(self, handle: Handle, patiently: bool = False) -> None:
        """Writes a file beside the plan. A shim in a pod checks it four times a second."""
        write_stop_request(Path(handle["folder"]), "patiently" if patiently else "politely")

    def kill(self, handle: Handle) -> None:
        """Asks the shim to kill first, so that it can still write its exit record, then deletes every pod."""
        folder = Path(handle["folder"])
        write_stop_request(folder, "now")
        deadline = time.monotonic() + FORCE_SECONDS
        with suppress(ApiUnreachable, ApiRefused):
            while time.monotonic() < deadline:
                found = self.find_run(folder)
                if found is None or all(map(snapshot.is_deleting_now, found.live_pods)):
                    return  # Nothing is left, or a kubelet takes long to end it, which is not waited for here.
                time.sleep(PAUSE_SECONDS)
            if (found := self.find_run(folder)) is not None:
                remove_run(self.api, found, LEAST_GRACE_SECONDS)

    def end_leftovers(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        """Deletes the remaining pods, because a gang that has lost a pod must hold no unit any more.

        If the pod with the shim has ended without an error, the other pods get a moment to end by themselves.
        """
        numbers = object_names.attempt_key_of_folder(folder)
        if has_ended and is_exit_final(self._last.runs.get(numbers)):
            return 0
        with raising_unreachable():
            look = self.read_attempt_snapshot(folder)
            found = look.runs.get(numbers)
            if found is None or not found.live_pods:
                if found is None or has_service(found):
                    remove_orphan_service(self.api, folder, self.installation)
                return 0
            waits = time.monotonic() - self._ended.setdefault(numbers, time.monotonic()) < MEMBERS_SECONDS
            if not (has_ended and waits and has_shim_pod_succeeded(found)):
                remove_run(self.api, found, LEAST_GRACE_SECONDS)
        return count_remaining_pods(found, look.silent_nodes, given_up)

    def remove_ended_except(self, known: Collection[AttemptKey]) -> None:
        """Kubernetes itself deletes the pods of a deleted owner. Pods without an owner are deleted here."""
        with raising_unreachable():
            last = self.recent_snapshot()  # The caller has just read a snapshot, so this one is recent.
        for numbers, found in last.runs.items():
            if numbers not in known and not has_live_pod(found, last.silent_nodes):
                # A failure here leaves the object for the next call and does not stop the other deletions.
                with raising_unreachable(), suppress(ApiRefused):
                    (remove_owner if found.owner else remove_run)(self.api, found)
        self.unused_objects.delete_due(self.installation, last.runs.values())
        kept = {*known, *last.runs}
        for moments in (self._made, self._begun, self._ended):
            drop_old_moments(moments, kept)
        self._ends = {numbers: end for numbers, end in self._ends.items() if numbers in kept}


def has_shim_started(started: dict[str, Any] | None) -> bool:
    return started is not None and started is not container_folders.START_PREVENTED


def read_shim_marker(folder: Path) -> dict[str, Any] | None:
    started = container_folders.read_start_marker(folder)
    return started if has_shim_started(started) else None


def pod_handle(folder: Path, started: dict[str, Any] | None) -> Handle:
    """The handle with the GPUs that the kubelet chose and the shim reported."""
    job, attempt = object_names.attempt_key_of_folder(folder)
    return {
        "namespace": object_names.workspace_namespace(object_names.workspace_of_folder(folder)),
        "name": object_names.run_name(job, attempt),
        "folder": str(folder),
        **parse_shim_facts(started or {}),
    }


def parse_shim_facts(started: dict[str, Any]) -> dict[str, Any]:
    """`gpus` and `node` if they are well-formed. The program has the shim's user and may have changed the file."""
    gpus, node = started.get("gpus"), started.get("node")
    told: dict[str, Any] = {}
    if isinstance(gpus, list) and len(gpus) <= MOST_GPUS and all(map(is_plain_name, gpus)):
        told["gpus"] = gpus
    return told | ({"node": node} if is_plain_name(node) else {})


def is_reachable_folder(path: Path) -> bool:
    """Whether the folder can be read. It cannot if the file server no longer knows our handle, for example."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_plain_name(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isprintable()


def drop_old_moments(moments: dict[AttemptKey, float], known: Collection[AttemptKey]) -> None:
    """Forgets moments of unknown attempts, but some time later, so that repeated questions about an ended one get the
    same answer.
    """
    before = time.monotonic() - REMEMBERED_SECONDS
    for numbers in [each for each, at in moments.copy().items() if each not in known and at < before]:
        moments.pop(numbers, None)


@contextmanager
def raising_unreachable() -> Iterator[None]:
    """Raises ExecutorUnreachable for ApiUnreachable, if a missing answer means that the state is unknown."""
    try:
        yield
    except ApiUnreachable as silence:
        raise ExecutorUnreachable(silence.code, **silence.data) from silence
    except ApiRefused as refusal:
        raise ExecutorUnreachable("kubernetes.refused", said=refusal.message) from refusal
