"""Decides which addresses the pods of a workspace may exchange packets with, for each node's packet filter.

The CNI plugin enters a node's own pods before they begin (roles/kubernetes/files/closed_pods.py). This module decides
about the pods of the other nodes, and about the addresses from which the portal reaches notebooks. An address that is
not named is no member of any workspace, and its packets are dropped.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cluster.domain.kubernetes.api_objects import ApiObject, parse_api_time

TABLE = "inet groundcrew_pods"
"""The table of nftables, as roles/kubernetes/templates/pod-ports.nft.j2 makes it."""
DOORS = "doors"
"""The set of the addresses from which the portal reaches notebooks."""
LEASE_NAMESPACE = "groundcrew"
LEASE_PREFIX = "groundcrew-pod-network-"
"""Each node's watcher renews a lease of this name and the node's, twice a minute while it hears of pods."""
WATCHER_SILENT_AFTER = timedelta(minutes=2)
REMOTE_SET = re.compile(r"^add set inet groundcrew_pods remote_(\d+) ", re.MULTILINE)
"""The sets that a text of `member_rules` fills."""


@dataclass(frozen=True)
class PodAddress:
    """The address of a pod that runs or is about to run."""

    address: str
    workspace: int
    node: str


@dataclass(frozen=True)
class NetworkMembers:
    """The addresses for one node: pods on other nodes by workspace, and those of the portal."""

    remote: Mapping[int, frozenset[str]] = field(default_factory=dict)
    doors: frozenset[str] = frozenset()


def lease_name(node: str) -> str:
    return LEASE_PREFIX + node


def renewed_leases(leases: Iterable[ApiObject]) -> dict[str, datetime]:
    """Node → the time at which its watcher last renewed its lease."""
    return {
        lease["metadata"]["name"].removeprefix(LEASE_PREFIX): parse_api_time(lease["spec"]["renewTime"])
        for lease in leases
        if lease["metadata"]["name"].startswith(LEASE_PREFIX) and (lease.get("spec") or {}).get("renewTime")
    }


def watcher_silent_since(node: ApiObject, renewed: Mapping[str, datetime], now: datetime) -> datetime | None:
    """None while the node's watcher hears of pods. A node that never had a lease counts from its creation.

    If no node has a lease, the watchers belong to an older release that renews none, and the result is None.
    """
    about = node["metadata"]
    made = about.get("creationTimestamp")
    last = renewed.get(about["name"]) or (parse_api_time(made) if renewed and made else None)
    return last if last and now - last > WATCHER_SILENT_AFTER else None


def remote_members(pods: Iterable[PodAddress], node: str) -> dict[int, frozenset[str]]:
    """The addresses on nodes other than `node`, by workspace.

    An address that pods of two workspaces claim belongs to neither: one of them is about to go, and nobody can say
    which one a packet would reach.
    """
    claims: dict[str, set[int]] = defaultdict(set)
    for pod in pods:
        if pod.node != node:
            claims[pod.address].add(pod.workspace)
    members: dict[int, set[str]] = defaultdict(set)
    for address, workspaces in claims.items():
        if len(workspaces) == 1:
            members[min(workspaces)].add(address)
    return {workspace: frozenset(addresses) for workspace, addresses in members.items()}


def member_rules(members: NetworkMembers, earlier: Collection[int] = ()) -> str:
    """One transaction for `nft --file` that makes the sets of remote pods and of the portal what they should be.

    `earlier` are the workspaces of the transaction before: those that have no remote pods any more are emptied.
    """
    lines = _filled(DOORS, members.doors)
    for workspace in sorted({*members.remote, *earlier}):
        lines += _filled(f"remote_{workspace}", members.remote.get(workspace, frozenset()))
    return "\n".join(lines) + "\n"


def workspaces_in_rules(text: str) -> frozenset[int]:
    """The workspaces whose sets a text of `member_rules` names, also those that another process has left."""
    return frozenset(map(int, REMOTE_SET.findall(text)))


def _filled(name: str, addresses: Collection[str]) -> list[str]:
    """The commands after which the set exists with exactly these elements."""
    lines = [f"add set {TABLE} {name} {{ type ipv4_addr; }}", f"flush set {TABLE} {name}"]
    if addresses:
        lines.append(f"add element {TABLE} {name} {{ {', '.join(sorted(addresses))} }}")
    return lines
