"""The real services under the simulated executor and the reference model are told of the same events."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from sqlalchemy import text

import worker.scheduling.reconciler
from tests.crash.installation import NODES, Ground, beat
from tests.crash.invariants.checker import unsettled, violations
from tests.crash.invariants.row_snapshot import Seen
from tests.crash.model import LIVING, Model
from tests.crash.scenario.actors import STEP_SECONDS, Stage
from tests.crash.sweep import WHOLE, look, running_in
from worker.executors.simulated import Behaviour
from worker.executors.simulated_run import SimulatedRun

FOR_EVER = Behaviour(seconds=10**9)
QUOTAS = {1: 3, 2: 2}


class Machine(RuleBasedStateMachine):
    """Each rule does one thing to both, lets the real one settle, and compares."""

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        ground.put_back()
        self.ground = ground
        self.stage = Stage(ground)
        ground.world.set_behaviour(FOR_EVER)
        nodes = {node["id"]: node["name"] for node in self.seen().of("nodes")}
        units = {name: frozenset(u["id"] for u in self.seen().of("units") if nodes[u["node_id"]] == name)
                 for name in NODES}  # fmt: skip
        self.model = Model(QUOTAS, units)
        self.known_attempts: set[int] = set()
        self.known_ends: set[int] = set()

    def seen(self) -> Seen:
        return look(self.ground)

    @rule(is_wide=some.booleans(), units=some.integers(1, 2), priority=some.sampled_from([0, 0, 5]))
    def submit(self, is_wide: bool, units: int, priority: int) -> None:
        name = f"j{len(self.model.jobs) + 1}"
        training = self.ground.wide if is_wide else self.ground.narrow
        self.stage.submit(name, training, units, priority=priority)
        self.model.submitted(self.stage.jobs[name], 1 if is_wide else 2, units, priority)
        self.settle()

    @precondition(lambda self: self.model.jobs)
    @rule(data=some.data())
    def stop(self, data: Any) -> None:
        number = data.draw(some.sampled_from(sorted(self.model.jobs)))
        was = self.model.jobs[number].state
        self.stage.stop(f"j{sorted(self.model.jobs).index(number) + 1}")
        self.model.stop_wanted(number)
        if was in LIVING:
            self.model.was_stopped(number)
        self.settle()

    @precondition(lambda self: self.model.busy())
    @rule(data=some.data(), exit_code=some.sampled_from([0, 3]))
    def program_ends(self, data: Any, exit_code: int) -> None:
        run = self.draw_run(data)
        with self.ground.world.lock():
            end = replace(run.behaviour, seconds=0.0, exit_code=exit_code)
            self.ground.world.write_run(replace(run, behaviour=end))
        self.model.ended(run.job, exit_code)
        self.settle()

    @precondition(lambda self: self.model.busy())
    @rule(data=some.data())
    def shim_dies(self, data: Any) -> None:
        run = self.draw_run(data)
        self.ground.world.lose_shim(run.job, run.attempt)
        self.model.shim_lost(run.job)
        self.settle()

    @rule(node=some.sampled_from(NODES))
    def node_reboots(self, node: str) -> None:
        self.ground.world.reboot(node)
        beat(self.ground.cluster, self.ground.world)
        self.model.node_rebooted(node)
        self.settle()

    @precondition(lambda self: any(job.state == "waiting" for job in self.model.jobs.values()))
    @rule(data=some.data(), is_held=some.booleans())
    def hold(self, data: Any, is_held: bool) -> None:
        waiting = sorted(number for number, job in self.model.jobs.items() if job.state == "waiting")
        number = data.draw(some.sampled_from(waiting))
        moment = self.ground.cluster.clock() if is_held else None
        with self.ground.cluster.store.write() as session:
            session.execute(
                text("UPDATE jobs SET held_at = :at WHERE id = :id"), {"at": moment, "id": number}
            )
        self.model.held(number, is_held)
        self.settle()

    @rule()
    def scheduler_restarts(self) -> None:
        self.stage = Stage(self.ground)
        self.settle()

    def draw_run(self, data: Any) -> SimulatedRun:
        with self.ground.world.lock():
            runs = sorted(self.ground.world.runs(), key=lambda run: run.key)
        found: SimulatedRun = data.draw(some.sampled_from(runs))
        return found

    def settle(self) -> None:
        """Until rows and world agree; then the model is told what was placed, and both are compared."""
        for _ in range(20):
            self.stage.run(1)
            if not unsettled(self.seen(), running_in(self.ground)):
                break
        seen = self.seen()
        self.tell(seen)
        assert self.state_of(seen) == self.model.state()
        # The scheduler looked for the last time before the last step of time passed.
        looked_at = self.ground.cluster.clock() - timedelta(seconds=STEP_SECONDS)
        assert self.model.could_start(looked_at) == []
        assert violations(seen) == []

    def tell(self, seen: Seen) -> None:
        """What was interrupted, then what was placed."""
        for attempt in seen.of("attempts"):
            if attempt["ended_at"] and attempt["id"] not in self.known_ends:
                self.known_ends.add(attempt["id"])
                if attempt["end_code"].startswith("interrupted."):
                    lasted = attempt["ended_at"] - attempt["created_at"]
                    self.model.interrupted(attempt["job_id"], lasted, attempt["ended_at"])
        for attempt in seen.of("attempts"):
            if attempt["id"] not in self.known_attempts:
                self.known_attempts.add(attempt["id"])
                units = self.units_of(seen, attempt["id"])
                self.model.placed(attempt["job_id"], units, attempt["created_at"])
                self.model.started(attempt["job_id"])

    def units_of(self, seen: Seen, attempt: int, only_living: bool = False) -> frozenset[int]:
        return frozenset(
            held["unit_id"]
            for held in seen.of("allocations")
            if held["attempt_id"] == attempt and not (only_living and held["ended_at"])
        )

    def state_of(self, seen: Seen) -> dict[int, tuple[str, int, frozenset[int]]]:
        holds: dict[int, frozenset[int]] = {}
        for attempt in seen.of("attempts"):
            held = self.units_of(seen, attempt["id"], only_living=True)
            holds[attempt["job_id"]] = holds.get(attempt["job_id"], frozenset()) | held
        return {
            job["id"]: (job["state"], job["fence"], holds.get(job["id"], frozenset()))
            for job in seen.of("jobs")
        }


@contextmanager
def kept_clocks() -> Iterator[None]:
    kept = worker.scheduling.reconciler.time
    yield
    worker.scheduling.reconciler.time = kept


def test_services_and_model_come_to_the_same_state(ground: Ground) -> None:
    examples, steps = (100, 40) if WHOLE else (8, 10)
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=not WHOLE,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    with kept_clocks():
        run_state_machine_as_test(lambda: Machine(ground), settings=chosen)
    ground.put_back()
