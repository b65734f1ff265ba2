"""A node is lost, another is added and the first comes back while 100 jobs run: none is lost, and none runs twice.

The nodes are simulated (kwok, kube-scheduler and the node controllers are real): no program runs.
"""

import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import func, select

from cluster.domain.states import AttemptState, JobState, UnitKind
from cluster.services.nodes.heartbeats import ReportedUnit, record_heartbeat
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation, Node
from cluster.store.workspaces import Workspace
from tests.integration.conftest import a_cluster, a_ground, redis_server, settings_on
from tests.integration.worker.executors.conftest import until
from tests.integration.worker.scheduling.conftest import Field, a_field
from tests.kubernetes.api_server import SCHEDULER, ApiServer
from tests.kubernetes.compiled_programs import NotCompiled
from tests.kwok.nodes import add_nodes, kill_node, revive_node, simulated_nodes
from tests.kwok.player import Player
from worker.kubernetes import object_names

GPUS = 8
NODES = [f"simulated-{number:02}" for number in range(13)]
LOST, ADDED = NODES[0], "simulated-added"
JOBS = 110
FULL = GPUS * len(NODES)
BEAT_SECONDS = 4.0
SILENT_AFTER = 8
"""Kubernetes and we notice it about then: an agent counts as silent after 20 s."""


class Agents(threading.Thread):
    """Heartbeats of all nodes in `alive`."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self.field, self.alive, self.is_over = field, set(NODES), threading.Event()

    def run(self) -> None:
        while not self.is_over.wait(BEAT_SECONDS / 8):
            self.beat()

    def beat(self) -> None:
        for name in sorted(self.alive):
            seen = [ReportedUnit(f"GPU-{name}-{number}", UnitKind.GPU, number) for number in range(GPUS)]
            facts = {"cpus": 128, "memory_bytes": 2**40}
            record_heartbeat(self.field.cluster, name, f"boot-{name}", facts, seen)
            if self.is_over.wait(BEAT_SECONDS / len(NODES)):
                return


@pytest.fixture
def field_(
    server: ApiServer, with_rights: None, migrated_file: Path
) -> Iterator[tuple[Field, Player, Agents]]:
    if os.geteuid() != 0:
        pytest.skip("jobs in pods run as users of their own: only root can give them their folders")
    with ExitStack() as stack:
        ground = stack.enter_context(a_ground())
        url = stack.enter_context(redis_server(ground / "run" / "redis.sock"))
        cluster = stack.enter_context(a_cluster(settings_on(ground, migrated_file, url)))
        field = stack.enter_context(a_field(cluster))
        with cluster.store.write() as session:
            session.get_one(Workspace, field.training.workspace_id).units = 2 * FULL
        try:
            stack.enter_context(simulated_nodes(server, SILENT_AFTER))
        except NotCompiled:
            pytest.skip("nodes not simulated: kwok is not built, `python -m tests.kwok.program` builds it")
        add_nodes(server, NODES, GPUS)
        stack.callback(lambda: remove_nodes(server))
        player = stack.enter_context(Player(server.api, seconds=3600))
        agents = Agents(field)
        agents.start()
        stack.callback(agents.join)
        stack.callback(agents.is_over.set)
        field.start_scheduler(
            GROUNDCREW_EXECUTOR="kubernetes",
            GROUNDCREW_KUBECONFIG=str(server.kubeconfig(SCHEDULER)),
            GROUNDCREW_KUBERNETES_IMAGE="registry.example/training@sha256:1",
            GROUNDCREW_NODE_GRACE_SECONDS="30",
        )
        yield field, player, agents


def remove_nodes(server: ApiServer) -> None:
    for name in (*NODES, ADDED):
        server.api.delete("Node", name)


def count(field: Field, state: JobState) -> int:
    with field.cluster.store.read() as session:
        return session.scalar(select(func.count(Job.id)).where(Job.state == state)) or 0


def attempts(field: Field) -> list[Attempt]:
    with field.cluster.store.read() as session:
        return list(session.scalars(select(Attempt).order_by(Attempt.job_id, Attempt.number)))


def on_node(field: Field, name: str) -> set[tuple[int, int]]:
    """Job and number of attempts that live there."""
    living = select(Attempt.job_id, Attempt.number).join(Node, Node.id == Attempt.node_id)
    with field.cluster.store.read() as session:
        rows = session.execute(living.where(Node.name == name, Attempt.ended_at.is_(None)))
        return {(row[0], row[1]) for row in rows}


@pytest.mark.long
def test_a_node_is_lost_and_others_come_while_a_hundred_jobs_run(
    field_: tuple[Field, Player, Agents], server: ApiServer
) -> None:
    field, player, agents = field_
    jobs = [field.submit("pass") for _ in range(JOBS)]
    until(lambda: count(field, JobState.RUNNING) == FULL, 300, f"{FULL} jobs run")
    had = on_node(field, LOST)
    assert len(had) == GPUS

    player.silent.add(LOST)
    agents.alive.discard(LOST)
    kill_node(server, LOST)
    add_nodes(server, [ADDED], GPUS)
    agents.alive.add(ADDED)
    fault = time.monotonic()
    everybody = {job.id for job in jobs}
    # The added node takes the six that waited; of the eight that were on the lost one two, and six wait.
    until(lambda: len(on_node(field, ADDED)) == GPUS, 300, "the added node is full")
    until(lambda: not on_node(field, LOST), 300, "the lost node is given up")
    print(
        f"the lost node's runs are given up after {time.monotonic() - fault:.0f} s (30 s since it was last heard of)"
    )
    until(lambda: count(field, JobState.RUNNING) == FULL, 120, "as many run as before")

    revive_node(server, LOST)
    player.silent.discard(LOST)
    agents.alive.add(LOST)
    healed = time.monotonic()
    until(lambda: count(field, JobState.RUNNING) == JOBS, 120, "the node that came back is used again")
    print(f"the node that came back has work again after {time.monotonic() - healed:.1f} s (goal 15 s)")

    player.release()
    until(lambda: count(field, JobState.FINISHED) == JOBS, 300, "all have finished")
    tried = attempts(field)
    assert {each.job_id for each in tried} == everybody, "I1: no job is missing"
    assert_units_were_held_once(field)
    assert_one_at_a_time(tried)
    ended = Counter(each.end_code for each in tried)
    assert ended == {"exit.finished": JOBS, "interrupted.node_lost": GPUS}, "I4: each has its cause"
    again = {(each.job_id, 1) for each in tried if each.number > 1}
    assert again == had, "only what was on the lost node is tried again"
    assert player.refused == [] and set(player.began) == {(each.job_id, each.number) for each in tried}
    until(lambda: not left_over(server), 60, "I5: no Job and no pod of them is left")


def left_over(server: ApiServer) -> list[str]:
    wanted = object_names.label_selector(part=object_names.RUN_PART)
    listed = (each for kind in ("Job", "Pod") for each in server.api.list_all(kind, wanted).things)
    return [each["metadata"]["name"] for each in listed]


def assert_units_were_held_once(field: Field) -> None:
    """I2: of one unit each allocation ends before the next begins."""
    with field.cluster.store.read() as session:
        rows = session.execute(
            select(Allocation.unit_id, Allocation.begun_at, Allocation.ended_at).order_by(Allocation.begun_at)
        ).all()
    spans = defaultdict(list)
    for unit, begun, ended in rows:
        assert ended is not None
        spans[unit].append((begun, ended))
    for held in spans.values():
        assert all(first[1] <= second[0] for first, second in zip(held, held[1:], strict=False))


def assert_one_at_a_time(tried: list[Attempt]) -> None:
    """I3: of one job each attempt has ended before the next was made."""
    for first, second in zip(tried, tried[1:], strict=False):
        assert first.state is AttemptState.ENDED and first.ended_at is not None
        assert first.job_id != second.job_id or first.ended_at <= second.created_at
