"""Two nodes with pods, as flannel would network them: namespaces of this kernel, bridges, and routes between them.

The rules, the plugin and the sets are the product's own; what is played is the container engine that calls the plugin,
and kube-proxy's one rule for the cluster's DNS.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cluster.domain.kubernetes.pod_network import NetworkMembers, PodAddress, remote_members
from tests.unit.roles.rendering import ROOT, render
from tests.unit.roles.test_kubernetes import given
from worker.kubernetes.object_names import workspace_namespace
from worker.kubernetes.pod_network import NodeRules

PLUGIN = ROOT / "roles" / "kubernetes" / "files" / "closed_pods.py"
NODES = {"a": "10.0.0.10", "b": "10.0.0.11"}
METADATA, DNS = "169.254.169.254", "10.96.0.10"
SERVED = (53, 8080, 8888)
PATIENCE = 0.7
"""Seconds after which an attempt counts as dropped; within one machine an answer takes less than a millisecond."""
SERVE = f"""
import asyncio, sys
async def echo(reader, writer):
    while data := await reader.read(100):
        writer.write(data); await writer.drain()
async def main():
    for port in {SERVED}:
        await asyncio.start_server(echo, None, port)
    print("ready", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
ASK = f"""
import asyncio, json, sys
async def ask(target):
    host, port = target.rsplit(" ", 1)
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), {PATIENCE})
    except (OSError, asyncio.TimeoutError):
        return target, False
    writer.close()
    return target, True
async def main():
    print(json.dumps(dict(await asyncio.gather(*map(ask, sys.argv[1:])))))
asyncio.run(main())
"""
HOLD = f"""
import socket, sys
there = socket.create_connection((sys.argv[1], 8080), timeout={PATIENCE})
for line in sys.stdin:
    try:
        there.sendall(b"x")
        print("answered" if there.recv(1) else "ended", flush=True)
    except OSError:
        print("silent", flush=True)
"""


@dataclass(frozen=True)
class Pod:
    """`workspace` None: of the system."""

    name: str
    node: str
    address: str
    workspace: int | None

    @property
    def network(self) -> str:
        """The name of its namespace of the kernel."""
        return f"gcp{os.getpid()}-{self.name}"


@dataclass
class Held:
    """A connection that stays open."""

    process: "subprocess.Popen[str]"

    def answers(self) -> bool:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline() == "answered\n"


@dataclass
class Mesh:
    folder: Path
    pods: Sequence[Pod]
    processes: list["subprocess.Popen[str]"] = field(default_factory=list)

    def make(self) -> None:
        places = [*map(node_network, NODES), *(pod.network for pod in self.pods)]
        self.ip(*(f"netns add {place}" for place in places))
        for place in places:
            # An address of IPv6 is good at once.
            run(place, "/usr/sbin/sysctl", "-q", "-w", "net.ipv6.conf.default.accept_dad=0")
        ends = {node: f"gcl{os.getpid()}{node}" for node in NODES}
        self.ip(f"link add {ends['a']} type veth peer name {ends['b']}")
        for number, (node, address) in enumerate(NODES.items(), 1):
            (other,) = set(NODES) - {node}
            here, network = f"-n {node_network(node)}", f"10.244.{number}"
            self.ip(
                *(f"link set {ends[node]} netns {node_network(node)}", f"{here} link set lo up"),
                f"{here} addr add {address}/24 dev {ends[node]}",
                *(f"{here} link set {ends[node]} up", f"{here} link add cni0 type bridge"),
                *(f"{here} addr add {network}.1/24 dev cni0", f"{here} link set cni0 up"),
                f"{here} route add 10.244.{3 - number}.0/24 via {NODES[other]}",
            )
            for name in (
                "net.ipv4.ip_forward",
                "net.bridge.bridge-nf-call-iptables",
                "net.bridge.bridge-nf-call-ip6tables",
            ):
                run(node_network(node), "/usr/sbin/sysctl", "-q", "-w", f"{name}=1")
        self.ip(
            f"-n {node_network('b')} addr add {METADATA}/32 dev lo",
            f"-n {node_network('a')} route add {METADATA} via {NODES['b']}",
        )
        for number, pod in enumerate(self.pods):
            self.plug(number, pod)
        for place in (*map(node_network, NODES), *(pod.network for pod in self.pods)):
            process = self.start(place, SERVE)
            assert process.stdout and process.stdout.readline() == "ready\n"

    def plug(self, number: int, pod: Pod) -> None:
        """The pod's interface on the bridge of its node."""
        outer, inner = f"gcv{os.getpid()}{number}", f"gci{os.getpid()}{number}"
        there, node = f"-n {pod.network}", node_network(pod.node)
        gateway = f"{pod.address.rpartition('.')[0]}.1"
        self.ip(
            f"link add {outer} netns {node} type veth peer name {inner} netns {pod.network}",
            f"-n {node} link set {outer} master cni0 up",
            *(f"{there} link set lo up", f"{there} link set {inner} name eth0"),
            *(f"{there} addr add {pod.address}/24 dev eth0", f"{there} link set eth0 up"),
            f"{there} route add default via {gateway}",
        )

    def load_rules(self, node: str) -> None:
        """As groundcrew-pod-ports.service does, at its start and whenever it is begun again."""
        told = given(kubernetes_node_addresses=list(NODES.values()), groundcrew_portal_port=8443)
        rules = self.here(node, render("kubernetes", "pod-ports.nft", **told))
        file = self.folder / node / "pod-ports.nft"
        for name in ("closed-pods", "pod-network"):
            (self.folder / node / f"groundcrew-{name}").mkdir(parents=True, exist_ok=True)
        file.write_text(rules)
        run(node_network(node), "/usr/sbin/nft", "--file", str(file))

    def here(self, node: str, text: str) -> str:
        """Each node has a /run of its own."""
        return text.replace("/run/groundcrew-", f"{self.folder / node}/groundcrew-")

    def find_dns(self, pod: Pod) -> None:
        """kube-proxy's work."""
        for node in NODES:
            for command in (
                "add table ip dns",
                "add chain ip dns found { type nat hook prerouting priority dstnat; }",
                f"add rule ip dns found ip daddr {DNS} meta l4proto {{ tcp, udp }} dnat to {pod.address}",
            ):
                run(node_network(node), "/usr/sbin/nft", command)

    def begin(self, pod: Pod, container: str = "") -> None:
        """What the container engine does before the pod's first program runs."""
        plugin = self.folder / pod.node / "plugin.py"
        plugin.write_text(self.here(pod.node, PLUGIN.read_text()))
        told = {
            "cniVersion": "0.3.1",
            "prevResult": {"ips": [{"version": "4", "address": f"{pod.address}/24"}]},
        }
        space = "kube-system" if pod.workspace is None else workspace_namespace(pod.workspace)
        said = {
            "CNI_COMMAND": "ADD",
            "CNI_CONTAINERID": container or pod.name,
            "CNI_ARGS": f"K8S_POD_NAMESPACE={space}",
        }
        run(node_network(pod.node), sys.executable, "-IS", str(plugin), text=json.dumps(told), variables=said)

    def watch(self, node: str, doors: Sequence[str] = ()) -> None:
        """What the node's watcher says once it has seen these pods."""
        nft = ("ip", "netns", "exec", node_network(node), "/usr/sbin/nft")
        known = [
            PodAddress(pod.address, pod.workspace, pod.node) for pod in self.pods if pod.workspace is not None
        ]
        rules = NodeRules(self.folder / node / "groundcrew-pod-network", nft)
        rules.tell(NetworkMembers(remote_members(known, node), frozenset(doors)))

    def open_from(self, network: str, *targets: str) -> set[str]:
        """Of the targets, as `10.244.1.5 8080`, those that take a connection."""
        answers: dict[str, bool] = json.loads(run(network, sys.executable, "-IS", "-c", ASK, *targets))
        return {target for target, is_open in answers.items() if is_open}

    def open_pairs(self) -> set[tuple[str, str]]:
        """Who reaches whom, all at the same time."""
        targets = {f"{pod.address} 8080": pod.name for pod in self.pods}
        asking = {pod: self.start(pod.network, ASK, *targets) for pod in self.pods}
        answers = {pod: json.loads(process.communicate()[0]) for pod, process in asking.items()}
        return {
            (pod.name, targets[target])
            for pod, answer in answers.items()
            for target, is_open in answer.items()
            if is_open and targets[target] != pod.name
        }

    def link_local(self, network: str) -> str:
        """By IPv6, which every interface has by itself."""
        name = "eth0" if network in {pod.network for pod in self.pods} else "cni0"
        shown = run(network, "ip", "-6", "-o", "addr", "show", "dev", name, "scope", "link")
        return shown.split()[3].partition("/")[0]

    def hold(self, pod: Pod, other: Pod) -> Held:
        held = Held(self.start(pod.network, HOLD, other.address))
        assert held.answers()
        return held

    def start(self, network: str, program: str, *words: str) -> "subprocess.Popen[str]":
        command = ["ip", "netns", "exec", network, sys.executable, "-IS", "-c", program, *words]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def ip(self, *commands: str) -> None:
        for command in commands:
            subprocess.run(["ip", *command.split()], check=True)

    def remove(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()
        for network in (*map(node_network, NODES), *(pod.network for pod in self.pods)):
            subprocess.run(["ip", "netns", "delete", network], check=False, capture_output=True)


def node_network(node: str) -> str:
    return f"gcp{os.getpid()}-node-{node}"


def run(network: str, *command: str, text: str = "", variables: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        ["ip", "netns", "exec", network, *command],
        input=text,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@contextmanager
def pod_mesh(folder: Path, pods: Sequence[Pod]) -> Iterator[Mesh]:
    mesh = Mesh(folder, pods)
    try:
        mesh.make()
        yield mesh
    finally:
        mesh.remove()
