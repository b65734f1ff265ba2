"""The objects of a workspace: a namespace that nothing leaves and nothing enters, with the units of its term.

Kueue is the second fence, not a second brain: it counts, and which nodes are taken is ours to say. One flavour
for all units therefore, without labels of nodes, so that it can never choose other nodes than we did.
"""

from collections.abc import Sequence
from typing import Any

from cluster.domain import notebooks
from cluster.domain.kube.tenancies import UNIT, Tenancy
from worker.kube.kinds import head
from worker.kube.names import DOOR, INSTALLATION, LOCAL_QUEUE, PART, TENANT, WEB, WORKSPACE, namespace_of

Thing = dict[str, Any]

FLAVOR = "groundcrew-units"
SHARED = 0
"""In place of a workspace's number, for what all of them share."""
UNCOUNTED = {"cpu": "1M", "memory": "1Pi", "ephemeral-storage": "1Pi", "rdma/hca": "1M"}
"""Kueue admits nothing that asks for a resource without a quota; these are bounded by the pods' own limits."""
NAMES_NAMESPACE = "kubernetes.io/metadata.name"
FORBIDDEN = {"services.loadbalancers": "0", "services.nodeports": "0"}
"""Nothing of a workspace is offered to the network outside."""


def shared_objects() -> list[Thing]:
    """Before all others, and the same for every installation."""
    flavor = head("ResourceFlavor", FLAVOR, labels={PART: TENANT})
    return [flavor | {"spec": {}}]


def objects_of(tenancy: Tenancy, installation: str, masters: Sequence[str] = ()) -> list[Thing]:
    """In the order in which they are made: what restricts comes before what admits.

    `masters`: blocks of addresses from which the portal speaks to notebooks.
    """
    return [
        namespace(tenancy, installation),
        account(tenancy, installation),
        *policies(tenancy, installation, masters),
        quota(tenancy, installation),
        limits(tenancy, installation),
        cluster_queue(tenancy, installation),
        local_queue(tenancy, installation),
    ]


def begin(kind: str, name: str, installation: str, workspace: int, namespace: str = "") -> Thing:
    labels = {INSTALLATION: installation, PART: TENANT, WORKSPACE: str(workspace)}
    return head(kind, name, namespace, labels)


def inside(kind: str, name: str, tenancy: Tenancy, installation: str) -> Thing:
    return begin(kind, name, installation, tenancy.workspace, namespace_of(tenancy.workspace))


def namespace(tenancy: Tenancy, installation: str) -> Thing:
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted"""
    thing = begin("Namespace", namespace_of(tenancy.workspace), installation, tenancy.workspace)
    thing["metadata"]["labels"] |= {
        f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")
    }
    thing["metadata"]["labels"]["pod-security.kubernetes.io/enforce-version"] = "latest"
    thing["metadata"]["annotations"] = {"groundcrew.io/workspace-name": tenancy.name}
    return thing


def account(tenancy: Tenancy, installation: str) -> Thing:
    """Pods run as this one where they name none: no token of it is put into them."""
    return inside("ServiceAccount", "default", tenancy, installation) | {
        "automountServiceAccountToken": False
    }


def policies(tenancy: Tenancy, installation: str, masters: Sequence[str]) -> list[Thing]:
    """Nothing in, nothing out, but the cluster's names, the pods of the same workspace, and the portal to notebooks."""
    everything: Thing = {"podSelector": {}}
    dns = {
        "namespaceSelector": {"matchLabels": {NAMES_NAMESPACE: "kube-system"}},
        "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
    }
    ports = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    specs = {
        "deny": {**everything, "policyTypes": ["Ingress", "Egress"]},
        "names": {**everything, "policyTypes": ["Egress"], "egress": [{"to": [dns], "ports": ports}]},
        "own": {
            **everything,
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": [everything]}],
            "egress": [{"to": [everything]}],
        },
        "door": {
            "podSelector": {"matchLabels": {DOOR: WEB}},
            "policyTypes": ["Ingress"],
            **door_for(masters),
        },
    }
    return [
        inside("NetworkPolicy", name, tenancy, installation) | {"spec": spec} for name, spec in specs.items()
    ]


def door_for(masters: Sequence[str]) -> Thing:
    """A rule without an address would let in everybody: where no master is known there is no rule."""
    if not masters:
        return {}
    ports = [{"protocol": "TCP", "port": notebooks.PORT}]
    return {"ingress": [{"from": [{"ipBlock": {"cidr": block}} for block in masters], "ports": ports}]}


def quota(tenancy: Tenancy, installation: str) -> Thing:
    """Holds also for who goes round Kueue."""
    hard = {f"requests.{UNIT}": str(tenancy.units), **FORBIDDEN}
    return inside("ResourceQuota", "term", tenancy, installation) | {"spec": {"hard": hard}}


def limits(tenancy: Tenancy, installation: str) -> Thing:
    """For containers that say nothing of their own."""
    container = {
        "type": "Container",
        "default": {"cpu": "1", "memory": "1Gi"},
        "defaultRequest": {"cpu": "100m", "memory": "256Mi"},
    }
    return inside("LimitRange", "modest", tenancy, installation) | {"spec": {"limits": [container]}}


def cluster_queue(tenancy: Tenancy, installation: str) -> Thing:
    """`Hold` admits nothing new and ends nothing that runs. No cohort: lending is decided by us.

    https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/
    """
    name = namespace_of(tenancy.workspace)
    quotas = {**UNCOUNTED, UNIT: str(tenancy.units)}
    flavor = {
        "name": FLAVOR,
        "resources": [{"name": resource, "nominalQuota": quantity} for resource, quantity in quotas.items()],
    }
    return begin("ClusterQueue", name, installation, tenancy.workspace) | {
        "spec": {
            "namespaceSelector": {"matchLabels": {NAMES_NAMESPACE: name}},
            "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [{"coveredResources": list(quotas), "flavors": [flavor]}],
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "preemption": {
                "reclaimWithinCohort": "Never",
                "borrowWithinCohort": {"policy": "Never"},
                "withinClusterQueue": "Never",
            },
            "stopPolicy": "None" if tenancy.is_open else "Hold",
        }
    }


def local_queue(tenancy: Tenancy, installation: str) -> Thing:
    spec = {"clusterQueue": namespace_of(tenancy.workspace), "stopPolicy": "None"}
    return inside("LocalQueue", LOCAL_QUEUE, tenancy, installation) | {"spec": spec}


def key_of(thing: Thing) -> tuple[str, str, str]:
    """Kind, namespace, name."""
    return thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


KINDS_IN_ORDER: Sequence[str] = (
    "ResourceFlavor", "Namespace", "ServiceAccount", "NetworkPolicy", "ResourceQuota", "LimitRange",
    "ClusterQueue", "LocalQueue",
)  # fmt: skip
