"""The main story: what happens to jobs on their way, one step after another; any step may be begun twice."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from cluster.domain.errors import Conflict
from cluster.services import workspaces
from cluster.store.trainings import Training
from tests.crash.stage import Stage
from worker.executors.simulated import Behaviour

Step = Callable[[Stage], object]


def end_term(stage: Stage) -> None:
    """The narrow workspace's term is over at once."""
    ground = stage.ground
    with ground.cluster.store.read() as session:
        workspace = session.get_one(Training, ground.narrow).workspace_id
    with suppress(Conflict):  # The first try had been committed.
        workspaces.end_workspace(ground.cluster, ground.administrator, workspace)
    ground.journal.tell("term ended", workspace=workspace)


CAST = {
    "short": Behaviour(seconds=3),
    "long": Behaviour(seconds=100, ignores_stop=True),
    "other": Behaviour(seconds=4),
    "waits": Behaviour(seconds=3),
    "unwanted": Behaviour(seconds=3),
    "fails": Behaviour(seconds=2, exit_code=3),
    "loses": Behaviour(seconds=5, loses_shim_after=2),
    "too-late": Behaviour(seconds=3),
}
"""How the program of the job with this name behaves."""

MAIN: Sequence[Step] = (
    lambda on: on.submit("short", on.ground.wide, 1),
    lambda on: on.submit("long", on.ground.wide, 2),
    lambda on: on.submit("other", on.ground.narrow, 2),
    lambda on: on.run(2),
    lambda on: on.submit("waits", on.ground.wide, 2),
    lambda on: on.submit("unwanted", on.ground.wide, 1),
    lambda on: on.stop("unwanted"),
    lambda on: on.run(3),
    lambda on: on.stop("long"),
    lambda on: on.run(6),
    lambda on: on.submit("fails", on.ground.narrow, 1),
    lambda on: on.submit("loses", on.ground.wide, 1),
    lambda on: on.run(2),
    lambda on: on.ground.world.reboot("node-a"),
    lambda on: on.run(2),
    lambda on: on.submit("too-late", on.ground.narrow, 1),
    end_term,
    lambda on: on.run(40, may_end_early=True),
)
