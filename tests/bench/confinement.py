"""The tax of confinement: the same training with everything that confines a job, and with nothing of it, in turn.

python -m tests.bench.confinement [--pairs 20] [--epochs 60] [--ranks 1] [--anyway]

A run is the built-in LeNet on the handwritten digits, started by the process executor as root and as a job's own user,
from the shim's first moment to its last: making and removing what confines it is counted. Which of a pair goes first
changes from pair to pair; one pair beforehand warms the caches and does not count. The interval is a bootstrap over
the pairs' ratios. Ends with 1 if its upper end is above the goal.
"""

import argparse
import json
import math
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cluster.domain.built_in_models import BUILT_IN_MODELS, check_variables
from cluster.domain.jobs import launch
from cluster.domain.jobs.attempts import ObservedState
from cluster.domain.states import Launcher, UnitKind
from tests.bench.machine import NotIdle, busy_share, check_idle, describe
from tests.start_plans import a_start_plan
from worker.adapters.datasets.sample_digits import write_sample_digits
from worker.adapters.job_runtime import install_runtime
from worker.bootstrap.paths import find_installation_paths
from worker.environments.manifest import read_environment_variables
from worker.executors.contract import SandboxSpec, StartPlan
from worker.executors.process import ProcessExecutor
from worker.inside import shim_cloud_metadata, shim_files

GOAL = 1.02
"""The upper end of the interval, confined over bare."""
UID, GID = 190_001, 190_001
CONFINES = ("sandbox", "group")
"""What stands in a plan for its shim to confine the program."""
GIB = 1024**3
RESAMPLES = 20_000
LIMIT_SECONDS = 600
LANES = ("confined", "bare")


class BareExecutor(ProcessExecutor):
    """Everything but the confinement: the same shim, the same user."""

    def _write_plan(self, plan: StartPlan) -> None:
        super()._write_plan(plan)
        control = str(plan.folder / "control")
        told = shim_files.read_untrusted_json(control, "plan.json") or {}
        bare = {key: value for key, value in told.items() if key not in CONFINES}
        shim_files.write_json_atomically(f"{control}/plan.json", bare)


@dataclass
class Track:
    """Where trainings run: a storage that their user may enter, the installed runtime and the digits."""

    ground: Path
    environment: Path
    epochs: int
    ranks: int
    runtime: Path = field(init=False)
    jobs: int = 0

    def __post_init__(self) -> None:
        self.ground.chmod(0o711)
        self.runtime = install_runtime(self.ground / "runtime")
        write_sample_digits(self.environment, self.ground / "digits")
        self.storage = self.ground / "storage"
        (self.storage / "jobs").mkdir(parents=True)
        self.executors = {
            "confined": ProcessExecutor(self.runtime, self.storage),
            "bare": BareExecutor(self.runtime, self.storage),
        }

    def plan(self) -> StartPlan:
        self.jobs += 1
        folder = self.storage / "jobs" / str(self.jobs) / "1"
        interpreter, out = self.environment / "bin" / "python", folder / "out"
        launcher = Launcher.HOROVOD if self.ranks > 1 else Launcher.PLAIN
        program = launch.built_in_program(str(interpreter), "lenet")
        argv = launch.local_launch_plan(
            launcher, str(interpreter), str(self.runtime), self.ranks, program
        ).command
        folders = launch.JobFolders(
            str(self.runtime), str(out), str(self.runtime), str(self.ground / "digits")
        )
        slots = [f"cpu-{number}" for number in range(self.ranks)]
        variables = check_variables(BUILT_IN_MODELS["lenet"], {"epochs": str(self.epochs)})
        environment = launch.job_environment(
            self.jobs, 1, self.ranks, slots, UnitKind.CPU_SLOT, folders, str(interpreter.parent), variables
        )
        shown = (self.runtime, self.ground / "digits", self.environment)
        return a_start_plan(
            self.jobs,
            1,
            folder,
            argv,
            environment | read_environment_variables(self.environment),
            ranks=self.ranks,
            uid=UID,
            gid=GID,
            units=self.ranks,
            memory_bytes=4 * GIB * self.ranks,
            most_processes=4096 * self.ranks,
            sandbox=SandboxSpec((self.ground,), shown, (UID, UID)),
        )

    def run(self, lane: str) -> float:
        """Seconds from the shim's first moment to its last."""
        plan, executor = self.plan(), self.executors[lane]
        executor.start(plan)
        deadline = time.monotonic() + LIMIT_SECONDS
        while executor.read_status(plan.folder).observed is not ObservedState.ENDED:
            assert time.monotonic() < deadline, f"a training ends within {LIMIT_SECONDS} s"
            time.sleep(0.05)
        control = plan.folder / "control"
        end = json.loads((control / "exit.json").read_text())
        log = (control / "shim.log").read_text()
        assert end["exit_code"] == 0, f"{lane}: {end}\n{log}"
        assert "not confined" not in log, log
        shutil.rmtree(plan.folder)
        begun, ended = (datetime.fromisoformat(end[name]) for name in ("started_at", "ended_at"))
        return (ended - begun).total_seconds()


def interval(ratios: Sequence[float], resamples: int = RESAMPLES) -> tuple[float, float]:
    """95 % of the geometric mean of ratios, by a percentile bootstrap that gives the same answer each time."""
    chance, logs = random.Random(1), [math.log(ratio) for ratio in ratios]
    means = sorted(statistics.fmean(chance.choices(logs, k=len(logs))) for _ in range(resamples))
    return math.exp(means[int(0.025 * resamples)]), math.exp(means[int(0.975 * resamples) - 1])


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} s [{min(values):.2f} … {max(values):.2f}]"


def measure(track: Track, pairs: int) -> dict[str, list[float]]:
    for lane in LANES:
        track.run(lane)
    took: dict[str, list[float]] = {lane: [] for lane in LANES}
    for number in range(pairs):
        for lane in LANES if number % 2 == 0 else reversed(LANES):
            took[lane].append(track.run(lane))
        ratio = took["confined"][-1] / took["bare"][-1]
        print(
            f"pair {number + 1}: {took['confined'][-1]:.2f} s : {took['bare'][-1]:.2f} s = {ratio:.4f}",
            flush=True,
        )
    return took


def find_environment() -> Path:
    """The training environment that `make up` has built here."""
    folders = sorted(find_installation_paths().cache_dir.glob("training-*/bin/python"))
    assert folders, "no training environment is built here: make up builds it"
    return folders[-1].parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--anyway", action="store_true", help="also on a busy machine")
    asked = parser.parse_args()
    try:
        busy = check_idle()
    except NotIdle as trouble:
        if not asked.anyway:
            print(f"The machine is not idle: {trouble}.\nNothing is measured; --anyway measures and says so.")
            return 1
        busy = busy_share(1.0)
    ground = Path(tempfile.mkdtemp(prefix="gc-confinement-", dir="/var/tmp"))
    try:
        took = measure(Track(ground, find_environment(), asked.epochs, asked.ranks), asked.pairs)
    finally:
        shutil.rmtree(ground)
        shim_cloud_metadata.unblock_cloud_metadata(UID, UID)
    return tell(took, busy)


def tell(took: dict[str, list[float]], busy: float) -> int:
    """0: the goal is kept."""
    facts = describe()
    print(
        f"{facts['processor']}, {facts['cores']} cores, Linux {facts['kernel']}; {busy:.0%} of it in use before"
    )
    for lane, seconds in took.items():
        print(f"{lane}: {spread(seconds)}")
    ratios = [confined / bare for confined, bare in zip(took["confined"], took["bare"], strict=True)]
    low, high = interval(ratios)
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    print(
        f"confined : bare, {len(ratios)} pairs: {mean:.4f}, 95 % of it {low:.4f} … {high:.4f} (goal: at most {GOAL})"
    )
    return 0 if high <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
