"""A node behind a real network: its agent lives in a network namespace and reports to the portal over HTTP.

Time runs twenty times as fast as on the wall, so that a grace time of a minute passes in three seconds. The
programs are the simulated executor's; what the network cuts off is cut off for the executor as well.
"""

import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import httpx
from werkzeug.serving import make_server

import worker.adapters.portal_client
import worker.commands.agent
from cluster.domain.states import UnitKind
from cluster.services.context import Cluster
from cluster.services.nodes.heartbeats import ReportedUnit
from cluster.services.nodes.node_tokens import create_node_token
from cluster.store.jobs import Job
from portal import create_app
from tests.crash.installation import NODES, SLOTS, Ground
from tests.crash.invariants.execution_log import WatchedWorld
from tests.crash.invariants.row_snapshot import Record
from tests.crash.sweep import look, start_child
from worker.adapters.portal_client import PortalClient
from worker.executors.simulated import SimulatedExecutor
from worker.scheduling.loop import SchedulerLoop, Wakeup

FASTER = 20
GRACE = 60
"""Seconds of the cluster's time: three on the wall."""
BEAT = 0.2
"""Seconds on the wall between two heartbeats: four of the cluster's."""
CLONE_NEWNET = 0x40000000
PORT = 8473
FOR_TESTS = IPv4Address("198.18.0.0")
"""Kept for measurements of networks (RFC 2544); 16 addresses for each process."""


class FastWorld(WatchedWorld):
    """Time that nobody moves and that runs faster than the wall's."""

    began_at: float = 0.0

    def now(self) -> float:
        return self.began_at + (time.time() - self.began_at) * FASTER


class Pauses(Wakeup):
    def __init__(self) -> None:
        pass

    def skip_to_newest(self) -> None:
        pass

    def wake(self) -> None:
        pass

    def wait(self, seconds: float, *others: Any) -> bool:
        time.sleep(0.05)
        return False


@dataclass
class Link:
    """A pair of interfaces: one end here, the other in the node's own namespace.

    Names and addresses go by the process: two test runs have links of their own, and one that was killed left some.
    """

    number: int
    name: str = field(init=False)

    def __post_init__(self) -> None:
        pid = os.getpid()
        self.name = f"gc-crash-{pid}-{self.number}"
        self.device = f"gcc{pid % 100000}v{self.number}"
        network = FOR_TESTS + pid % 8192 * 16 + self.number * 4
        self.address, self.address_inside = str(network + 1), str(network + 2)

    def make(self) -> None:
        inside = f"{self.device}i"
        for command in (
            f"ip netns add {self.name}",
            f"ip link add {self.device} type veth peer name {inside}",
            f"ip link set {inside} netns {self.name}",
            f"ip addr add {self.address}/30 dev {self.device}",
            f"ip link set {self.device} up",
            f"ip -n {self.name} addr add {self.address_inside}/30 dev {inside}",
            f"ip -n {self.name} link set {inside} up",
        ):
            subprocess.run(command.split(), check=True)

    def remove(self) -> None:
        for command in (f"ip link del {self.device}", f"ip netns del {self.name}"):
            subprocess.run(command.split(), check=False, stderr=subprocess.DEVNULL)

    def set(self, state: str) -> None:
        subprocess.run(["ip", "link", "set", self.device, state], check=True)

    def enter(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/run/netns/{self.name}").open() as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")


@dataclass
class Cloud:
    """The portal over HTTP, a scheduler, and one agent for each node, each a process of its own."""

    ground: Ground
    links: dict[str, Link]
    pids: dict[str, int] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        return self.ground.folder / "children.log"

    def start(self, name: str, work: Callable[[], None]) -> None:
        def live() -> None:
            signal.alarm(180)
            work()

        self.pids[name] = start_child(live, self.log)

    def start_agent(self, node: str) -> None:
        """With the boot that the world's node has."""
        boot = self.ground.world.nodes()[node].boot
        token = self.ground.folder / f"{node}.token"

        def report() -> None:
            self.links[node].enter()
            worker.commands.agent.HEARTBEAT_SECONDS = BEAT
            worker.adapters.portal_client.PATIENCE_SECONDS = 1.0
            api = PortalClient(f"http://{self.links[node].address}:{PORT}", None, token)
            units = [ReportedUnit(f"cpu-{number}", UnitKind.CPU_SLOT, number) for number in range(SLOTS)]
            plain = [{**vars(unit), "kind": unit.kind.value, "state": unit.state.value} for unit in units]
            worker.commands.agent.run_agent(
                lambda: api.post_heartbeat(boot, {}, plain), (httpx.HTTPError, OSError)
            )

        self.start(node, report)

    def kill(self, name: str) -> None:
        pid = self.pids.pop(name, 0)
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def cut(self, node: str) -> None:
        self.links[node].set("down")
        self.ground.world.cut_network(node)

    def heal(self, node: str) -> None:
        self.links[node].set("up")
        self.ground.world.restore_network(node)

    def name_of(self, job: int) -> str:
        with self.ground.cluster.store.read() as session:
            return session.get_one(Job, job).name

    def submit(self, name: str, units: int) -> None:
        body = {"training_id": self.ground.wide, "name": name, "units": units, "command": ["train.py"]}
        launcher = "plain" if units == 1 else "horovod"
        answer = httpx.post(
            f"http://{self.links[NODES[0]].address}:{PORT}/api/v1/jobs",
            json={**body, "launcher": launcher},
            headers={"Authorization": f"Bearer {self.ground.token}"},
            trust_env=False,
        )
        assert answer.status_code == 201, answer.text

    def rows(self, table: str) -> Sequence[Record]:
        return look(self.ground).of(table)

    def wait(self, is_so: Callable[[], object], what: str, seconds: float = 60.0) -> None:
        """`seconds` on the wall."""
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, f"{what}\n{self.said()}"
            time.sleep(0.05)

    def said(self) -> str:
        """What the processes said, without the requests."""
        lines = self.log.read_text().splitlines()
        return "\n".join(line for line in lines if " request " not in line)[-3000:]

    def have_reported(self) -> bool:
        fresh = datetime.fromtimestamp(self.ground.world.began_at, UTC)
        return all(
            node["heartbeat_at"].replace(tzinfo=node["heartbeat_at"].tzinfo or UTC) > fresh
            for node in self.rows("nodes")
        )

    def serve_portal(self) -> None:
        """On every node's link; one thread for each."""
        app = create_app(self.ground.cluster, testing=True)
        servers = [make_server(link.address, PORT, app, threaded=True) for link in self.links.values()]
        threads = [threading.Thread(target=server.serve_forever, daemon=True) for server in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def schedule(self) -> None:
        world = self.ground.world
        world.name_of = self.name_of
        SchedulerLoop(
            self.ground.cluster, SimulatedExecutor(world), Path("/runtime"), Pauses(), world.now
        ).run()


@contextmanager
def a_cloud(ground: Ground) -> Iterator[Cloud]:
    ground.put_back()
    cloud = Cloud(in_a_hurry(ground), {node: Link(number) for number, node in enumerate(NODES, start=1)})
    try:
        for node, link in cloud.links.items():
            link.make()
            (cloud.ground.folder / f"{node}.token").write_text(
                create_node_token(cloud.ground.cluster, node, has_executor=True)
            )
        cloud.ground.cluster.store.close()
        cloud.start("portal", cloud.serve_portal)
        for node in NODES:
            cloud.start_agent(node)
        cloud.wait(cloud.have_reported, "both agents report")
        cloud.start("scheduler", cloud.schedule)
        yield cloud
    finally:
        for name in list(cloud.pids):
            cloud.kill(name)
        for link in cloud.links.values():
            link.remove()
        ground.put_back()


def in_a_hurry(ground: Ground) -> Ground:
    """The same rows and files, in faster time."""
    world = FastWorld(ground.world.folder, ground.journal)
    world.began_at = time.time()
    settings = replace(ground.settings, node_grace_seconds=GRACE)
    clock = lambda: datetime.fromtimestamp(world.now(), UTC)  # noqa: E731 - a method would need a class.
    cluster = Cluster(ground.cluster.store, ground.cluster.events, settings, clock)
    return replace(ground, settings=settings, cluster=cluster, world=world)
