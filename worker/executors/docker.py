"""Runs attempts as Docker containers on the scheduler's own machine, with the shim as the container's program.

A container is named `gc-<job>-<attempt>-<installation>`, so that the engine refuses a second one, and its labels name
the attempt, so that a new scheduler finds it. The engine never restarts it. The shim has the same user as the
program. The program could therefore write its own exit record, so the record must agree with the engine's exit code.
"""

import hashlib
import os
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.jobs.exits import ExitRecord, parse_exit_record
from cluster.domain.jobs.unix_ids import DEFAULT_UNIX_IDS, JobUnixIds
from worker.adapters.docker_engine import (
    ContainerExists,
    DockerEngine,
    EngineRefused,
    EngineUnreachable,
    ImageMissing,
)
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
from worker.executors.docker_request import create_request
from worker.inside import shim_files, shim_process_tree

START_SECONDS = 20.0
FORCE_SECONDS = 1.0
PAUSE_SECONDS = 0.02
LIVING = frozenset({"running", "paused", "restarting"})
KILLED = 137


class DockerExecutor:
    """`storage` is the root of all attempt folders. It distinguishes the containers of this installation from those
    of others.
    """

    capabilities = ExecutorKind.DOCKER.capabilities

    def __init__(
        self,
        engine: DockerEngine,
        storage: Path,
        gpus: str = "nvidia",
        network: str = "none",
        job_ids: JobUnixIds = DEFAULT_UNIX_IDS,
    ) -> None:
        self.job_ids = job_ids
        self.engine = engine
        self.gpus = gpus
        self.network = network
        self.installation = hashlib.sha256(os.fsencode(storage)).hexdigest()[:8]

    def start(self, plan: StartPlan) -> Handle:
        if len(plan.placement.nodes) > 1:
            raise NotStarted("start.failed", reason="a container runs on one node")
        check_plan_ids(plan, self.job_ids)
        try:
            container_folders.prepare_folders(plan, self.container_user(plan))
            return self.wait_for_shim(plan, self.ensure_container(plan))
        except ImageMissing as missing:
            raise NotStarted("start.no_image", image=plan.container.image) from missing
        except (EngineRefused, OSError, ValueError) as error:
            raise start_problem_of(str(error), getattr(error, "errno", None)) from error
        except EngineUnreachable as silence:
            raise StartUnanswered(silence.code, **silence.data) from silence

    def ensure_container(self, plan: StartPlan) -> str:
        """The container's id. No container is created if a shim has begun before or if the start was prevented."""
        name = self.container_name(plan.folder)
        if container_folders.read_start_marker(plan.folder) is None:
            with suppress(ContainerExists):
                self.engine.create(name, self.container_request(plan, name))
        found = self.engine.inspect(name)
        if found is None:
            return name
        if found["State"]["Status"] == "created":
            self.engine.start(found["Id"])
        return str(found["Id"])

    def container_request(self, plan: StartPlan, name: str) -> dict[str, Any]:
        labels = self.container_labels(plan)
        network = self.network
        if network == "own":
            network = name
            self.engine.ensure_network(name, labels)
        return create_request(plan, name, labels, self.container_user(plan), self.gpus, network)

    def container_labels(self, plan: StartPlan) -> dict[str, str]:
        return {
            "groundcrew.installation": self.installation,
            "groundcrew.job": str(plan.job),
            "groundcrew.attempt": str(plan.attempt),
            "groundcrew.fence": str(plan.attempt),
            "groundcrew.folder": str(plan.folder),
            "groundcrew.boot": shim_process_tree.read_boot_id(),
        }

    def container_user(self, plan: StartPlan) -> tuple[int, int]:
        uid = os.getuid() if plan.program.uid is None else plan.program.uid
        gid = os.getgid() if plan.program.gid is None else plan.program.gid
        return uid, gid

    def container_name(self, folder: Path) -> str:
        """The container's name. The attempt's folder ends in `<job>/<attempt>`."""
        return f"gc-{folder.parent.name}-{folder.name}-{self.installation}"

    def wait_for_shim(self, plan: StartPlan, container: str) -> Handle:
        """Waits until the shim has begun, and accepts one that has ended since then."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            started = container_folders.read_start_marker(plan.folder)
            if started is container_folders.START_PREVENTED:
                raise NotStarted("start.forestalled")
            if started is not None:
                return {"container": container}
            found = self.engine.inspect(container)
            if found is None or found["State"]["Status"] not in LIVING:
                if container_folders.read_start_marker(plan.folder) is not None:
                    continue  # The shim began and ended since the last check.
                words = self.engine.read_last_log_lines(container)
                raise NotStarted("start.failed", reason=words or "the container ended before the shim began")
            if time.monotonic() > deadline:
                raise NotStarted("start.too_slow", seconds=START_SECONDS)
            time.sleep(PAUSE_SECONDS)

    def prevent_start(self, folder: Path) -> bool:
        return container_folders.prevent_container_start(folder)

    def read_status(self, folder: Path) -> RunStatus:
        try:
            found = self.engine.inspect(self.container_name(folder))
        except EngineUnreachable:
            return RunStatus(ObservedState.UNKNOWN)
        started = container_folders.read_start_marker(folder)
        has_begun = started is not None and started is not container_folders.START_PREVENTED
        if found is None:
            return RunStatus(ObservedState.ENDED if has_begun else ObservedState.ABSENT)
        handle = {"container": found["Id"]}
        of_this_boot = found["Config"]["Labels"].get("groundcrew.boot") == shim_process_tree.read_boot_id()
        if found["State"]["Status"] in LIVING:
            return RunStatus(ObservedState.ALIVE, handle, of_this_boot)
        return RunStatus(ObservedState.ENDED if has_begun else ObservedState.ABSENT, handle, of_this_boot)

    def find_notebook(self, folder: Path) -> str:
        return ""

    def list_running(self) -> list[RunningAttempt]:
        return [
            RunningAttempt(
                *attempt_key_of_labels(found),
                Path(found["Labels"]["groundcrew.folder"]),
                {"container": found["Id"]},
            )
            for found in self._list()
            if found["State"] in LIVING
        ]

    def _list(self) -> list[dict[str, Any]]:
        try:
            return self.engine.list_containers(f"groundcrew.installation={self.installation}")
        except EngineUnreachable as silence:
            raise ExecutorUnreachable(silence.code, **silence.data) from silence

    def read_exit_record(self, folder: Path) -> ExitRecord | None:
        """Combines the shim's exit record with the engine's exit code. A shim that the kernel killed for memory wrote
        no record.
        """
        try:
            found = self.engine.inspect(self.container_name(folder))
        except EngineUnreachable as silence:
            raise ExecutorUnreachable(silence.code, **silence.data) from silence
        content = shim_files.read_untrusted_file(str(folder / "control"), "exit.json")
        if found is None:
            return None if content is None else parse_exit_record(content)
        state = found["State"]
        if content is not None:
            truth = replace(parse_exit_record(content), executor_exit_code=state["ExitCode"])
            killed = state["OOMKilled"] and truth.exit_code == KILLED
            return replace(truth, out_of_memory=truth.out_of_memory or killed)
        if not state["OOMKilled"]:
            return None
        job, attempt = attempt_key_of_labels(found["Config"])
        limit = found["HostConfig"]["Memory"] or None
        return ExitRecord(
            job, attempt, attempt, exit_code=KILLED, out_of_memory=True, memory_limit_bytes=limit
        )

    def stop(self, handle: Handle, patiently: bool = False) -> None:
        """Asks the container's init, which passes the signal on to the shim."""
        with suppress(EngineUnreachable):
            self.engine.signal(handle["container"], "SIGINT" if patiently else "SIGTERM")

    def kill(self, handle: Handle) -> None:
        """Kills the shim's processes first, so that it can still write its exit record, then the whole container."""
        with suppress(EngineUnreachable):
            self.engine.signal(handle["container"], "SIGUSR1")
            deadline = time.monotonic() + FORCE_SECONDS
            while time.monotonic() < deadline:
                found = self.engine.inspect(handle["container"])
                if found is None or found["State"]["Status"] not in LIVING:
                    return
                time.sleep(PAUSE_SECONDS)
            self.engine.signal(handle["container"], "SIGKILL")

    def end_leftovers(self, folder: Path, has_ended: bool = False, given_up: Collection[str] = ()) -> int:
        """Ends the container if it still runs. Nothing else can be left, because a container ends with its init."""
        if has_ended:
            return 0
        try:
            found = self.engine.inspect(self.container_name(folder))
            if found is None or found["State"]["Status"] not in LIVING:
                return 0
            self.engine.signal(found["Id"], "SIGKILL")
        except EngineUnreachable as silence:
            raise ExecutorUnreachable(silence.code, **silence.data) from silence
        return 1

    def remove_ended_except(self, known: Collection[tuple[int, int]]) -> None:
        label = f"groundcrew.installation={self.installation}"
        try:
            for found in self._list():
                if found["State"] not in LIVING and attempt_key_of_labels(found) not in known:
                    self.engine.remove(found["Id"])
            for network in self.engine.list_networks(label):
                if attempt_key_of_labels(network) not in known:
                    self.engine.remove_network(network["Id"])
        except EngineUnreachable as silence:
            raise ExecutorUnreachable(silence.code, **silence.data) from silence


def attempt_key_of_labels(found: dict[str, Any]) -> tuple[int, int]:
    """The numbers of job and attempt in a container's labels."""
    labels = found["Labels"]
    return int(labels["groundcrew.job"]), int(labels["groundcrew.attempt"])
