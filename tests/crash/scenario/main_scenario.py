"""The main story: what happens to jobs on their way, one step after another; any step may be begun twice."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from cluster.domain.errors import Conflict
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.sweeps import stops, submission
from cluster.services.workspaces import lifecycle
from cluster.store.trainings import Training
from tests.crash.scenario.actors import Stage

Step = Callable[[Stage], object]


def end_term(stage: Stage) -> None:
    """The narrow workspace's term is over at once."""
    ground = stage.ground
    with ground.cluster.store.read() as session:
        workspace = session.get_one(Training, ground.narrow).workspace_id
    with suppress(Conflict):  # The first try had been committed.
        lifecycle.end_workspace(ground.cluster, ground.administrator, workspace)
    ground.journal.tell("term ended", workspace=workspace)


def submit_sweep(stage: Stage) -> None:
    """Three jobs in one request with a key, two of them at a time."""
    ground = stage.ground
    job = JobRequest(name="grid", units=1, command=("train.py", "{rate}"))
    request = SweepRequest(job, {"rate": ["1", "2", "3"]}, most_at_once=2)
    sweep = submission.submit_sweep(
        ground.cluster, ground.administrator, ground.narrow, request, ("grid", "h")
    )
    ground.journal.tell("sweep acknowledged", sweep=sweep.id, jobs=3)
    stage.sweep = sweep.id


def stop_sweep(stage: Stage) -> None:
    ground = stage.ground
    with suppress(Conflict):  # All its jobs have ended.
        stops.stop_sweep(ground.cluster, ground.administrator, stage.sweep)


SHORT: Sequence[Step] = (
    lambda on: on.submit("short", on.ground.wide, 1),
    lambda on: on.submit("long", on.ground.wide, 2),
    lambda on: on.run(2),
    lambda on: on.submit("unwanted", on.ground.wide, 1),
    lambda on: on.stop("unwanted"),
    lambda on: on.stop("long"),
    lambda on: on.submit("fails", on.ground.narrow, 1),
    lambda on: on.run(3),
    lambda on: on.ground.world.reboot("node-a"),
    lambda on: on.ground.world.reboot("node-b"),
    end_term,
    lambda on: on.run(40, may_end_early=True),
)
"""One of everything, for the tests of every change."""

MAIN: Sequence[Step] = (
    lambda on: on.submit("short", on.ground.wide, 1),
    lambda on: on.submit("long", on.ground.wide, 2),
    lambda on: on.submit("other", on.ground.narrow, 2),
    lambda on: on.run(2),
    lambda on: on.submit("waits", on.ground.wide, 2),
    lambda on: on.submit("unwanted", on.ground.wide, 1),
    lambda on: on.stop("unwanted"),
    lambda on: on.run(3),
    submit_sweep,
    lambda on: on.stop("long"),
    lambda on: on.run(6),
    stop_sweep,
    lambda on: on.submit("fails", on.ground.narrow, 1),
    lambda on: on.submit("loses", on.ground.wide, 1),
    lambda on: on.run(2),
    lambda on: on.ground.world.reboot("node-a"),
    lambda on: on.run(2),
    lambda on: on.submit("too-late", on.ground.narrow, 1),
    end_term,
    lambda on: on.run(40, may_end_early=True),
)
