"""Runs attempts as Jobs, MPIJobs and pods of a Kubernetes cluster, the shim inside as the program of the first pod.

Everything of an attempt is named `gc-<job>-<attempt>` in its workspace's namespace, so that no second one can be made,
and labelled with what it is, so that a new scheduler finds it. Kubernetes restarts nothing and tries nothing again:
what it takes away is a new attempt of ours. How to end is told by a file beside the plan, which needs no API server
and no kubelet; only who does not listen is deleted.
"""

import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from cluster.domain.attempts import Seen
from cluster.domain.exits import ExitTruth, parse_exit
from cluster.domain.job_ids import USUAL_IDS, JobIds
from worker.executors import container_folders
from worker.executors.attempt_folder import check_ids
from worker.executors.contract import Handle, NotStarted, Running, Sight, StartPlan, Unanswered
from worker.executors.kubernetes_asking import STOP, Numbers, forget_old, say, telling
from worker.executors.kubernetes_handles import handle_of, has_begun, is_folder, read_begun
from worker.executors.kubernetes_removal import remove, remove_makers, remove_service
from worker.executors.kubernetes_run import Runtime, gang_of, passwd_of, run_of, user_of
from worker.executors.kubernetes_shared import Shared
from worker.executors.kubernetes_sweep import Sweep
from worker.inside import shim_files
from worker.kube import names, sight
from worker.kube.api import Api, NameTaken, NoAnswer, Refused
from worker.kube.places import places_of
from worker.kube.shapes.objects import objects_of
from worker.kube.shapes.run import Gang, Run
from worker.kube.sight import NO_GRACE, Found, Look
from worker.kube.verdicts import (
    count_left,
    end_of,
    has_failed,
    has_service,
    has_succeeded,
    is_alive,
    is_beginning,
    is_final,
    judge,
    says_all,
    why_awaited,
    why_not,
)

FRESH_SECONDS = 1.0
"""How old a look may be. What it does not show is gone only where it was begun after we knew of it."""
FRESH_SHARE = 4.0
"""And so many times as long as that look took, where that is longer: thousands of runs cost a fifth of a core."""
FORCE_SECONDS = 1.0
MEMBERS_SECONDS = 10.0
"""So long the members of a gang may go on after the one with the shim has come to a good end."""
PAUSE_SECONDS = 0.05
ALWAYS = float("-inf")
NOWHERE = Look(ALWAYS, {}, frozenset())


class KubernetesExecutor:
    """`storage` is the root of all attempt folders, at the same place on every node; `exported` as `server:/folder`.

    `read_installation` gives the mark by which our objects are ours.
    """

    def __init__(
        self,
        api: Api,
        read_installation: Callable[[], str],
        storage: Path,
        runtime: Path,
        exported: str = "",
        fresh_seconds: float = FRESH_SECONDS,
        job_ids: JobIds = USUAL_IDS,
    ) -> None:
        self.job_ids = job_ids
        self.api = api
        self.storage = storage
        self.exported = exported
        self.runtime = Runtime(runtime)
        self.shared = Shared(api, self.runtime)
        self.sweep = Sweep(api, self.shared)
        self.read_installation = read_installation
        self._looking = threading.Lock()
        self._last = NOWHERE
        self.fresh_seconds = self._fresh = fresh_seconds
        self._made: dict[Numbers, float] = {}
        self._begun: dict[Numbers, float] = {}
        self._ended: dict[Numbers, float] = {}
        """When each attempt was made by us, when its marker was first read, and when its end; steady seconds."""
        self._ends: dict[Numbers, ExitTruth] = {}

    @cached_property
    def installation(self) -> str:
        """Asked for when it is first needed: a service starts while its database is away."""
        return self.read_installation()

    def start(self, plan: StartPlan) -> Handle | None:
        """None: its objects are there, and its shim has not begun."""
        if not plan.image:
            raise NotStarted("start.no_default_image")
        check_ids(plan, self.job_ids)
        try:
            run = run_of(plan, self.installation, self.storage, self.exported, self.runtime)
            self.prepare(plan, run)
            if container_folders.read_started(plan.folder) is None:
                self.shared.ensure(run)
                self.ensure_objects(plan, run)
        except NoAnswer as silence:
            raise Unanswered(silence.code, **silence.data) from silence
        except Refused as refusal:
            raise NotStarted("kubernetes.refused", said=refusal.message) from refusal
        except (OSError, ValueError) as error:
            raise NotStarted("start.failed", reason=str(error)) from error
        started = container_folders.read_started(plan.folder)
        if started is container_folders.FORESTALLED:
            raise NotStarted("start.forestalled")
        return None if started is None else handle_of(plan.folder, started)

    def prepare(self, plan: StartPlan, run: Run) -> None:
        """The folders, before any pod; of a gang that is several pods also the code, for they begin side by side."""
        user, gang = user_of(plan), gang_of(plan)
        more: dict[str, Any] = {"stop": STOP}
        if gang in (Gang.MPI, Gang.INDEXED) and plan.code:
            source = next(mount.source for mount in plan.mounts if mount.target == plan.code)
            more["code"] = None
        container_folders.prepare(plan, user, more)
        if "code" in more:
            container_folders.give_code(plan, source, user)
        if gang is Gang.MPI:
            container_folders.give_file(plan, "passwd", passwd_of(user))

    def ensure_objects(self, plan: StartPlan, run: Run) -> None:
        """Raises NotStarted where they are not ours, or ended before any shim began: the next try then is anew."""
        is_there = False
        for thing in objects_of(run):
            try:
                self.api.create(thing)
            except NameTaken:
                is_there = True
        self._made[names.numbers_of(plan.folder)] = time.monotonic()
        if not is_there:
            return
        if (found := self.find(plan.folder)) is None:
            name = names.name_of(plan.job, plan.attempt)
            raise NotStarted("start.failed", reason=f"{name} is there already, and is not this attempt")
        if has_failed(found) and container_folders.read_started(plan.folder) is None:
            remove(self.api, found, NO_GRACE)
            code, data = why_not(found)
            raise NotStarted(code, **data)

    def forestall(self, folder: Path) -> bool:
        if not container_folders.forestall(folder):
            return False
        with suppress(NoAnswer, Refused):
            if (found := self.find(folder)) is not None:
                remove(self.api, found)
        return True

    def find(self, folder: Path) -> Found | None:
        """Asked for now. Raises NoAnswer."""
        return self.look_at(folder).runs.get(names.numbers_of(folder))

    def look_at(self, folder: Path) -> Look:
        job, attempt = names.numbers_of(folder)
        namespace = names.namespace_of(names.workspace_of(folder))
        labels = {"job": str(job), "attempt": str(attempt)}
        return sight.look(self.api, self.installation, time.monotonic(), namespace, **labels)

    def last_look(self) -> Look:
        """At everything, not older than a moment: of a thousand runs that go on nobody asks one by one."""
        with self._looking:
            now = time.monotonic()
            if now - self._last.taken > self._fresh:
                self._last = sight.look(self.api, self.installation, now)
                self.tell_places()
                self._fresh = max(self.fresh_seconds, FRESH_SHARE * (time.monotonic() - now))
            return self._last

    def tell_places(self) -> None:
        """To pods that have none yet; what cannot be told now is told after the next look."""
        with suppress(NoAnswer, Refused):
            for found in self._last.runs.values():
                for pod, place in places_of(found):
                    about = pod["metadata"]
                    self.api.change("Pod", about["name"], about["namespace"], place)

    def look(self, folder: Path) -> Sight:
        """However many attempts there are, they are asked for together, and none of them by itself."""
        started, numbers = container_folders.read_started(folder), names.numbers_of(folder)
        if started is None and not is_folder(self.storage / "workspaces"):
            return Sight(Seen.UNKNOWN)  # The storage is away, and with it what would say that it has begun.
        begun, made = has_begun(started), self._made.get(numbers, ALWAYS)
        known = self._begun.setdefault(numbers, time.monotonic()) if begun else ALWAYS
        handle = handle_of(folder, started) if begun else None
        try:
            last = self.last_look()
        except (NoAnswer, Refused):
            return Sight(Seen.UNKNOWN, handle)
        found = last.runs.get(numbers)
        seen = judge(found, last.silent, begun)
        if last.taken < made or (last.taken < known and not is_final(found)):
            # What this look does not show may have been made since.
            seen = {Seen.GONE: Seen.ALIVE, Seen.ABSENT: Seen.AWAITED}.get(seen, seen)
        if seen is Seen.AWAITED and (why := why_awaited(found)):
            return Sight(seen, why=NotStarted(why[0], **why[1]))
        return Sight(seen, handle)

    def list_running(self) -> list[Running]:
        last = self._fresh_look()
        running = []
        for found in last.runs.values():
            # By its numbers: what stands in the cluster may have been written by anybody.
            folder = names.folder_of(self.storage, found.workspace, *found.numbers)
            begun = read_begun(folder)
            if is_alive(found, last.silent) or (begun and is_beginning(found, last.silent)):
                running.append(Running(*found.numbers, folder, handle_of(folder, begun)))
        return running

    def _fresh_look(self) -> Look:
        with telling(), self._looking:
            self._last = sight.look(self.api, self.installation, time.monotonic())
            return self._last

    def read_end(self, folder: Path) -> ExitTruth | None:
        """The shim's word beside the container's exit code; what was taken away by others did not end.

        Said once: what we delete of it afterwards was taken away by nobody else.
        """
        numbers = names.numbers_of(folder)
        if numbers in self._ends:
            return self._ends[numbers]
        found = self._last.runs.get(numbers)
        if not says_all(found):
            with telling():
                found = self.find(folder)
        content = shim_files.read_plain(str(folder / "control"), "exit.json")
        truth = None if content is None else parse_exit(content)
        was_asked = (folder / "control" / STOP).exists()
        if (end := end_of(found, truth, was_asked, numbers)) is not None:
            self._ends[numbers] = end
        return end

    def stop(self, handle: Handle, patiently: bool = False) -> None:
        """By a word beside the plan, which a shim in a pod looks for four times a second."""
        say(Path(handle["folder"]), "patiently" if patiently else "politely")

    def force_stop(self, handle: Handle) -> None:
        """First by the shim, so that it can still say how it ended; then every pod is deleted."""
        folder = Path(handle["folder"])
        say(folder, "now")
        deadline = time.monotonic() + FORCE_SECONDS
        with suppress(NoAnswer, Refused):
            while time.monotonic() < deadline:
                found = self.find(folder)
                if found is None or all(map(sight.is_ending_now, found.living)):
                    return  # Nothing is left of it, or a kubelet takes its time: nobody waits for that here.
                time.sleep(PAUSE_SECONDS)
            if (found := self.find(folder)) is not None:
                remove(self.api, found, NO_GRACE)

    def clear(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        """What is left of its pods goes: a gang that has lost a member holds no unit any more.

        Where the pod with the shim has come to a good end the others have a moment to come to theirs.
        """
        numbers = names.numbers_of(folder)
        if has_ended and says_all(self._last.runs.get(numbers)):
            return 0
        with telling():
            look = self.look_at(folder)
            found = look.runs.get(numbers)
            if found is None or not found.living:
                if found is None or has_service(found):
                    remove_service(self.api, folder, self.installation)
                return 0
            waits = time.monotonic() - self._ended.setdefault(numbers, time.monotonic()) < MEMBERS_SECONDS
            if not (has_ended and waits and has_succeeded(found)):
                remove(self.api, found, NO_GRACE)
        return count_left(found, look.silent, given_up)

    def forget_all_but(self, known: Collection[Numbers]) -> None:
        """Kubernetes itself collects the pods of what is deleted; those without an owner are deleted by us."""
        with telling():
            last = self.last_look()  # Who asks what runs has just looked at everything.
        for numbers, found in last.runs.items():
            if numbers not in known and not is_alive(found, last.silent):
                # What was made anew meanwhile is looked at again, and keeps nothing else here.
                with telling(), suppress(Refused):
                    (remove_makers if found.owner else remove)(self.api, found)
        self.sweep.take_turn(self.installation, last.runs.values())
        kept = {*known, *last.runs}
        for moments in (self._made, self._begun, self._ended):
            forget_old(moments, kept)
        self._ends = {numbers: end for numbers, end in self._ends.items() if numbers in kept}
