"""Tells this node's packet filter of the workspaces' pods on other nodes. The rules stay when this process ends: new
pods of other nodes are then unknown, and everything else goes on.
"""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import structlog

from cluster.domain.kubernetes.pod_network import (
    LEASE_NAMESPACE,
    NetworkMembers,
    PodAddress,
    lease_name,
    member_rules,
    remote_members,
    workspaces_in_rules,
)
from cluster.files.atomic import write_atomically
from worker.kubernetes.api_client import ApiRefused, KubernetesApi, KubernetesObject
from worker.kubernetes.namespaces.portal_addresses import CONTROL_PLANE, portal_address_blocks
from worker.kubernetes.object_kinds import object_head
from worker.kubernetes.object_names import NAMESPACE_PREFIX

log = structlog.get_logger()

NFT = "/usr/sbin/nft"
FOLDER = Path("/run/groundcrew-pod-network")
"""The packet filter reads this file when its rules are loaded again (roles/kubernetes/templates/pod-ports.nft.j2)."""
WATCH_SECONDS = 30
"""Everything is listed again after so many seconds: nodes change seldom, and a broken connection may go unnoticed."""
ENDED_PHASES = frozenset({"Succeeded", "Failed"})
"""A pod in such a phase sends nothing more, and another pod may have its address."""


class RulesRefused(Exception):
    """The packet filter refuses the rules. The message is that of nft."""


@dataclass
class NodeRules:
    """The sets of this node's packet filter that name pods of other nodes."""

    folder: Path = FOLDER
    nft: Sequence[str] = (NFT,)
    told: str = ""
    """The last text that the packet filter has taken from this process."""

    def tell(self, members: NetworkMembers) -> bool:
        """Writes the sets that have changed, and returns whether there were any. The file is written first, because the
        rules may be loaded again meanwhile. Raises RulesRefused.
        """
        file = self.folder / "members.nft"
        earlier = workspaces_in_rules(file.read_text()) if file.exists() else frozenset()
        text = member_rules(members, earlier)
        if text == self.told:
            return False
        write_atomically(file, text, 0o644, is_synced=False)
        done = subprocess.run([*self.nft, "--file", str(file)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.told = ""
            raise RulesRefused(" ".join(done.stderr.split())[:400])
        self.told = text
        return True


@dataclass
class PodNetworkWatch:
    """Lists everything, then follows the changes of pods."""

    api: KubernetesApi
    node: str
    rules: NodeRules
    clock: Callable[[], datetime] = partial(datetime.now, UTC)
    pods: dict[str, PodAddress] = field(default_factory=dict)
    doors: frozenset[str] = frozenset()

    def follow(self, seconds: int = WATCH_SECONDS) -> None:
        """One list of everything and so many seconds of events. Raises ApiUnreachable, ApiRefused, RulesRefused."""
        masters = self.api.list_all("Node", CONTROL_PLANE).things
        self.doors = frozenset(block.partition("/")[0] for block in portal_address_blocks(masters))
        listed = self.api.list_all("Pod")
        self.pods = {}
        for pod in listed.things:
            self.enter(pod)
        self.tell()
        self.renew_lease()
        for event, pod in self.api.watch("Pod", listed.version, seconds):
            self.pods.pop(pod["metadata"]["uid"], None)
            if event != "DELETED":
                self.enter(pod)
            self.tell()

    def enter(self, pod: KubernetesObject) -> None:
        if address := pod_address_of(pod):
            self.pods[pod["metadata"]["uid"]] = address

    def tell(self) -> None:
        members = NetworkMembers(remote_members(self.pods.values(), self.node), self.doors)
        if self.rules.tell(members):
            count = sum(map(len, members.remote.values()))
            log.info("pods of other nodes", workspaces=len(members.remote), pods=count)

    def renew_lease(self) -> None:
        """Lets the scheduler see that this node knows the pods of the others. Only an alert depends on it, so a refusal
        is only logged.
        """
        lease = object_head("Lease", lease_name(self.node), LEASE_NAMESPACE)
        renewed = self.clock().isoformat(timespec="microseconds")
        spec = {"holderIdentity": self.node, "leaseDurationSeconds": WATCH_SECONDS, "renewTime": renewed}
        try:
            self.api.apply(lease | {"spec": spec})
        except ApiRefused as refusal:
            log.warning("the lease of this watcher is not renewed", error=str(refusal))


def pod_address_of(pod: KubernetesObject) -> PodAddress | None:
    """None for a pod without an address, one that has ended, and one that is no workspace's."""
    namespace, status = pod["metadata"]["namespace"], pod.get("status") or {}
    workspace = namespace.removeprefix(NAMESPACE_PREFIX)
    address, node = status.get("podIP"), (pod.get("spec") or {}).get("nodeName")
    is_of_workspace = namespace != workspace and workspace.isdecimal()
    if not (is_of_workspace and address and node) or status.get("phase") in ENDED_PHASES:
        return None
    return PodAddress(address, int(workspace), node)
