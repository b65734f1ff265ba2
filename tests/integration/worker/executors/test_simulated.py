"""Faults that only the simulated executor can have at will: nodes that fall silent, restart, start slowly."""

import pytest

from cluster.domain.jobs.attempts import ObservedState, outcome_of
from tests.integration.worker.executors.executor_stages import SimulatedStage, Stage
from tests.integration.worker.executors.program_actions import Act
from worker.executors.contract import NotStarted, StartPlan
from worker.executors.simulated import Behaviour
from worker.executors.simulated_run import CUT_MARK, MOST_LOG_BYTES


@pytest.fixture
def simulated(stages) -> SimulatedStage:
    stage: Stage = stages("simulated")
    assert isinstance(stage, SimulatedStage)
    return stage


def gang(stage: SimulatedStage, nodes: int = 4, seconds: float = 600) -> StartPlan:
    names = tuple(f"node-{number + 1}" for number in range(nodes))
    return stage.plan(Act(says="ready\n", seconds=seconds), nodes=names, ranks=nodes)


def seen(stage: SimulatedStage, plan: StartPlan) -> ObservedState:
    return stage.executor.read_status(plan.folder).observed


def test_everything_of_it_says_that_it_is_simulated(simulated: SimulatedStage) -> None:
    plan = gang(simulated, seconds=1)
    assert simulated.executor.start(plan)["simulated"] is True
    simulated.world.advance_clock(2)
    assert seen(simulated, plan) is ObservedState.ENDED
    for name in ("plan.json", "started", "exit.json"):
        assert '"simulated": true' in (plan.folder / "control" / name).read_text()
    assert "simulated" in (plan.out / "launcher.stdout").read_text()


def test_a_node_that_lost_power_says_nothing_until_it_is_back_as_another_boot(
    simulated: SimulatedStage,
) -> None:
    plan = gang(simulated)
    simulated.executor.start(plan)
    simulated.world.power_off("node-3")
    assert seen(simulated, plan) is ObservedState.UNKNOWN
    assert "node-3" not in {node.name for node in simulated.world.list_answering()}
    simulated.world.power_on("node-3")
    sight = simulated.executor.read_status(plan.folder)
    assert (sight.observed, sight.is_of_this_boot) == (ObservedState.ENDED, False)
    assert simulated.executor.end_leftovers(plan.folder) == 3
    assert simulated.executor.end_leftovers(plan.folder) == 0
    assert simulated.executor.read_exit_record(plan.folder) is None


def test_a_gang_that_lost_a_member_hangs_until_it_is_stopped(simulated: SimulatedStage) -> None:
    plan = gang(simulated, seconds=60)
    handle = simulated.executor.start(plan)
    simulated.world.reboot("node-2")
    simulated.world.advance_clock(3600)
    assert [run.job for run in simulated.executor.list_running()] == [plan.job]
    simulated.executor.kill(handle)
    assert simulated.executor.list_running() == []


def test_a_partition_is_unknown_and_heals_without_a_loss(simulated: SimulatedStage) -> None:
    plan = gang(simulated)
    handle = simulated.executor.start(plan)
    simulated.world.cut_network("node-2")
    simulated.world.advance_clock(30)
    assert seen(simulated, plan) is ObservedState.UNKNOWN
    simulated.world.restore_network("node-2")
    assert simulated.executor.read_status(plan.folder).handle == handle
    assert seen(simulated, plan) is ObservedState.ALIVE


def test_a_fenced_attempt_behind_a_partition_is_found_and_ended_when_it_heals(
    simulated: SimulatedStage,
) -> None:
    plan = gang(simulated)
    handle = simulated.executor.start(plan)
    for name in ("node-1", "node-2", "node-3", "node-4"):
        simulated.world.cut_network(name)
    simulated.executor.kill(handle)
    assert simulated.executor.list_running() == []
    simulated.world.restore_network("node-2")
    assert [run.handle for run in simulated.executor.list_running()] == [handle]
    simulated.executor.kill(handle)
    assert simulated.executor.list_running() == []
    simulated.world.restore_network("node-1")
    simulated.executor.kill(simulated.executor.list_running()[0].handle)
    truth = simulated.executor.read_exit_record(plan.folder)
    assert truth is not None and truth.stopped
    simulated.world.restore_network("node-3")
    assert len(simulated.executor.list_running()) == 1
    for name in ("node-3", "node-4"):
        simulated.world.restore_network(name)
        simulated.executor.kill(handle)
    assert simulated.executor.list_running() == []


def test_what_ended_behind_a_partition_is_believed_only_once_it_is_seen(simulated: SimulatedStage) -> None:
    plan = gang(simulated, seconds=20)
    simulated.executor.start(plan)
    simulated.world.cut_network("node-1")
    simulated.world.advance_clock(60)
    simulated.world.restore_network("node-1")
    assert seen(simulated, plan) is ObservedState.ENDED
    truth = simulated.executor.read_exit_record(plan.folder)
    assert truth is not None and truth.exit_code == 0


def test_nothing_starts_on_a_node_that_does_not_answer(simulated: SimulatedStage) -> None:
    simulated.world.add_node("node-2")
    simulated.world.cut_network("node-2")
    plan = gang(simulated, nodes=2)
    with pytest.raises(NotStarted):
        simulated.executor.start(plan)
    assert simulated.executor.prevent_start(plan.folder)


def test_a_slow_start_shows_up_later_and_can_be_forestalled(simulated: SimulatedStage) -> None:
    simulated.world.start_slowly("node-1", 30)
    slow, unwanted, forgotten = (gang(simulated, nodes=1) for _ in range(3))
    for plan in (slow, unwanted, forgotten):
        with pytest.raises(NotStarted):
            simulated.executor.start(plan)
        assert seen(simulated, plan) is ObservedState.ABSENT
    assert simulated.executor.prevent_start(unwanted.folder)
    simulated.executor.remove_ended_except([(slow.job, 1)])
    simulated.world.advance_clock(30)
    assert seen(simulated, slow) is ObservedState.ALIVE
    assert seen(simulated, unwanted) is ObservedState.ABSENT
    assert seen(simulated, forgotten) is ObservedState.ABSENT


def test_a_wrong_exit_is_contradicted(simulated: SimulatedStage) -> None:
    plan = simulated.plan(Act())
    simulated.world.set_behaviour(Behaviour(seconds=0, exit_code=0, executor_exit_code=137), plan.job)
    simulated.executor.start(plan)
    assert seen(simulated, plan) is ObservedState.ENDED
    truth = simulated.executor.read_exit_record(plan.folder)
    assert truth is not None and outcome_of(truth).code == "exit.executor_disagrees"


def test_a_shim_can_be_lost_by_itself(simulated: SimulatedStage) -> None:
    plan = simulated.plan(Act())
    simulated.world.set_behaviour(Behaviour(seconds=60, loses_shim_after=10), plan.job)
    simulated.executor.start(plan)
    simulated.world.advance_clock(9)
    assert seen(simulated, plan) is ObservedState.ALIVE
    simulated.world.advance_clock(2)
    assert seen(simulated, plan) is ObservedState.ENDED
    assert simulated.executor.read_exit_record(plan.folder) is None


def test_a_flood_of_log_is_cut_with_a_mark(simulated: SimulatedStage) -> None:
    plan = simulated.plan(Act())
    simulated.world.set_behaviour(Behaviour(seconds=3600, log_bytes_per_second=1_000_000), plan.job)
    simulated.executor.start(plan)
    log = plan.out / "rank-0.stdout"
    simulated.world.advance_clock(2)
    assert seen(simulated, plan) is ObservedState.ALIVE
    assert log.stat().st_size == 2_000_000
    simulated.world.advance_clock(600)
    assert seen(simulated, plan) is ObservedState.ALIVE
    assert log.stat().st_size == MOST_LOG_BYTES + len(CUT_MARK)
    assert log.read_bytes().endswith(CUT_MARK)


def test_many_runs_on_many_nodes(simulated: SimulatedStage) -> None:
    plans = [simulated.plan(Act(seconds=10), nodes=(f"node-{number % 20}",)) for number in range(60)]
    for plan in plans:
        simulated.executor.start(plan)
    assert len(simulated.executor.list_running()) == 60
    simulated.world.advance_clock(10)
    assert simulated.executor.list_running() == []
    assert all(seen(simulated, plan) is ObservedState.ENDED for plan in plans)
