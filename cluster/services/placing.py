"""What placement looks at, read from the rows: scheduler, queue page and estimate see the same."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from cluster.domain import placement
from cluster.domain.outlook import Source
from cluster.domain.placement import Decision, Head, NodeUnits, Placed, Quota, Running
from cluster.domain.reasons import Reason
from cluster.kept import kept_property
from cluster.services.capacity import quotas_of, read_nodes, read_running
from cluster.services.context import Cluster
from cluster.services.history import Kind, Spans, expect, read_spans
from cluster.services.lines import WORKSPACES, InLine, read_fronts, read_line, read_shapes
from cluster.services.obstacles import Obstacles, read_obstacles
from cluster.services.pauses import read_pauses
from cluster.services.sweep_limits import limited_by_sweep

MOST_FRONTS = 2000
"""Jobs that one look reads from the fronts of all lines; what is behind them has its turn at the next look."""
MOST_AT_ONCE = 256
"""Units that one look gives out: longer would keep everybody who submits waiting for the lock."""
MOST_SHAPES = 500
EACH_SHAPE = 8
PLACE = ("id", "name", "units", "starts_on", "ends_on", "ended_at", "served_at", "served")


@dataclass(frozen=True)
class Board(placement.Board):
    """What placement looks at, and what the rows said of the heads."""

    jobs: Mapping[int, InLine] = field(kw_only=True)
    """The heads' rows, by job."""
    obstacles: Obstacles = field(kw_only=True)

    @property
    def free(self) -> int:
        return free_on(self.nodes)

    @kept_property
    def decisions(self) -> list[Decision]:
        """What `decide` says of the board as it is, found out once."""
        return self.decide()


@dataclass(frozen=True)
class Ground:
    """What the heads are judged against; read once per look."""

    now: datetime
    spread: bool
    workspaces: dict[int, Row[*tuple[Any, ...]]]
    nodes: list[NodeUnits]
    quotas: dict[int, Quota]
    running: list[Running]


def read_board(
    cluster: Cluster, session: Session, line: int | None = None, first: int = 0, at_least: int = 1
) -> Board:
    """The fronts of all lines, `at_least` so many jobs of each; of workspace `line` the first `first`.

    As many of each line as could start at once within its quota, and one more to say why it waits. Where units
    stay free although lines are longer than what was read, the first of every shape in them are looked at too:
    behind a front that waits for its data or for more units there may be jobs that can go now.
    """
    ground = read_ground(cluster, session)
    depths = depths_of(ground, at_least)
    found = read_depths(session, depths) + (read_line(session, line, first) if line is not None else [])
    # A workspace that was made a moment ago is seen by the next look.
    jobs = {job.id: job for job in found if job.workspace_id in ground.workspaces}
    board = board_of(cluster, session, ground, jobs.values())
    hidden = lines_with_more(board, depths)
    largest = units_left(board) if hidden else 0
    if not largest:
        return board
    more = read_shapes(session, hidden, min(largest, EACH_SHAPE), largest, MOST_SHAPES)
    others = [job for job in more if job.id not in jobs]
    return board_of(cluster, session, ground, [*jobs.values(), *others]) if others else board


def depths_of(ground: Ground, at_least: int) -> dict[int, int]:
    """How many jobs of each workspace's line are read."""
    free = min(free_on(ground.nodes), MOST_AT_ONCE, MOST_FRONTS // max(1, len(ground.workspaces)))
    # Of a line whose quota is used up two are read while units are free: behind a front that waits for
    # something else stands the one whose start is promised.
    return {
        place: max(at_least, min(free, max(1, quota.limit - quota.used)) + 1)
        for place, quota in ground.quotas.items()
    }


def read_depths(session: Session, depths: Mapping[int, int]) -> list[InLine]:
    """Two searches at most: all lines as deep as the shortest, and the others as deep as the longest."""
    least, most = min(depths.values(), default=0), max(depths.values(), default=0)
    longer = [place for place, depth in depths.items() if depth > least]
    if len(longer) == len(depths) or not longer:
        return read_fronts(session, most) if depths else []
    return [*read_fronts(session, least), *read_fronts(session, most, longer)]


def free_on(nodes: Collection[NodeUnits]) -> int:
    """Free units of nodes that take jobs."""
    return sum(len(node.free) for node in nodes if node.takes_jobs)


def can_spread(cluster: Cluster) -> bool:
    """Whether the executor can run one job on several nodes."""
    return cluster.settings.executor in ("kubernetes", "simulated")


def read_ground(cluster: Cluster, session: Session) -> Ground:
    now = cluster.clock()
    columns = select(*(WORKSPACES.c[name] for name in PLACE))
    workspaces = {row.id: row for row in session.execute(columns)}
    nodes, running = read_nodes(session, now), read_running(session, now)
    return Ground(
        now, can_spread(cluster), workspaces, nodes, quotas_of(workspaces.values(), running), running
    )


def board_of(cluster: Cluster, session: Session, ground: Ground, jobs: Collection[InLine]) -> Board:
    places = {job.workspace_id for job in jobs}
    datasets = {job.dataset_id for job in jobs if job.dataset_id is not None}
    obstacles = read_obstacles(cluster, session, [ground.workspaces[place] for place in places], datasets)
    one_of_each = {(job.training_id, job.units): job.id for job in jobs}
    spans = read_spans(session, one_of_each.values())
    lines = sorted(jobs, key=lambda job: (job.workspace_id, job.position, job.id))
    paused = read_pauses(session, lines, ground.now)
    limited = limited_by_sweep(session, (job for job in lines if job.id not in paused))
    heads = [head_of(job, obstacles, paused, limited, spans) for job in lines]
    return Board(
        heads,
        ground.nodes,
        ground.quotas,
        ground.running,
        ground.now,
        ground.spread,
        jobs={job.id: job for job in jobs},
        obstacles=obstacles,
    )


def head_of(
    job: InLine,
    obstacles: Obstacles,
    paused: Mapping[int, Reason],
    limited: Mapping[int, Reason],
    spans: Mapping[Kind, Spans],
) -> Head:
    """A pause comes first: it lasts for as long as the row says it, whatever else keeps the job."""
    expected = expect(spans.get((job.training_id, job.units)), job.time_limit_seconds)
    limit = job.time_limit_seconds
    differ = expected.source is Source.HISTORY and expected.least != expected.most
    return Head(
        job.id,
        job.workspace_id,
        job.units,
        job.priority,
        job.position,
        paused.get(job.id) or obstacles.of(job.workspace_id, job.dataset_id) or limited.get(job.id),
        expected.seconds,
        limit + job.grace_seconds if limit else None,
        job.submitted_at,
        expected.source,
        expected.least if differ else None,
        expected.most if differ else None,
    )


def lines_with_more(board: Board, depths: Mapping[int, int]) -> list[int]:
    """Workspaces with units left in their quota, of whose line there is more than the board shows."""
    if not board.free:
        return []
    shown = Counter(job.workspace_id for job in board.jobs.values())
    return [
        workspace_id
        for workspace_id, count in shown.items()
        if count >= depths[workspace_id]
        and board.quotas[workspace_id].used < board.quotas[workspace_id].limit
    ]


def units_left(board: Board) -> int:
    """What stays free on ready nodes when everybody on the board who can start has started."""
    given = (len(decision.unit_ids) for decision in board.decisions if isinstance(decision, Placed))
    return board.free - sum(given)
