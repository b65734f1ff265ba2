"""torchrun for real: a user's own program, two ranks over Gloo, under the process executor and a user of its own."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.domain.jobs import launch
from cluster.domain.jobs.attempts import outcome_of
from cluster.domain.states import JobState, Launcher, UnitKind
from tests.integration.conftest import a_ground, runtime_on
from tests.integration.worker.executors.conftest import Bench
from tests.integration.worker.executors.executor_stages import ProcessStage
from tests.start_plans import change_plan

PROGRAM = (Path(__file__).parent / "by_torch.py").read_text()
LIMIT_SECONDS = 240.0


@pytest.fixture
def bench() -> Iterator[Bench]:
    with a_ground() as ground:
        stage = ProcessStage(ground, runtime_on(ground))
        yield Bench(stage, stage.executor)
        stage.close()


def test_two_ranks_of_torchrun_learn_the_digits_together(
    bench: Bench, environment: Path, digits: Path
) -> None:
    plan = bench.script(PROGRAM, ranks=2)
    interpreter = str(environment / "bin" / "python")
    started = launch.local_launch_plan(
        Launcher.TORCHRUN, interpreter, str(bench.runtime), 2, (interpreter, "train.py")
    )
    folders = launch.JobFolders(str(bench.runtime), str(plan.out), str(plan.out / "work"), str(digits))
    units = ["cpu-slot-0", "cpu-slot-1"]
    told = launch.job_environment(plan.job, 1, 2, units, UnitKind.CPU_SLOT, folders, str(environment / "bin"))
    told |= {"OMP_NUM_THREADS": "1"}
    truth = bench.run(change_plan(plan, argv=started.command, environment=told), LIMIT_SECONDS)
    said = {rank: bench.log(plan, rank=rank).decode() for rank in (0, 1)}
    assert outcome_of(truth).state is JobState.FINISHED, bench.log(plan, "stderr").decode()[-3000:]
    assert {rank.rank for rank in truth.ranks} == {0, 1}
    accuracy = {float(re.findall(r"accuracy ([0-9.]+)", text)[-1]) for text in said.values()}
    assert min(accuracy) >= 0.95, accuracy
    weights = {re.findall(r"weights (\w+)", text)[-1] for text in said.values()}
    assert len(weights) == 1, "gradients were not exchanged"
    seen = [re.findall(r"rank (\d) of 2 saw (\d+) images", text) for text in said.values()]
    assert sorted(rank for ((rank, _),) in seen) == ["0", "1"]
    assert all(int(count) > 500 for ((_, count),) in seen), "each rank had its own half"
