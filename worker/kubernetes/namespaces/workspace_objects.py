"""The objects of a workspace: a closed namespace with its network policies, quota, limits and Kueue queues.

Kueue limits how much runs at a time, but the scheduler alone chooses nodes. All units therefore have one flavour
without node labels, so that Kueue cannot choose other nodes.
"""

from collections.abc import Sequence
from typing import Any

from cluster.domain.kubernetes.workspace_namespace import GPU_RESOURCE, WorkspaceNamespace
from cluster.domain.notebooks import jupyter_server
from worker.kubernetes.object_kinds import object_head
from worker.kubernetes.object_names import (
    INSTALLATION,
    LOCAL_QUEUE,
    PART,
    WEB,
    WEB_LABEL,
    WORKSPACE,
    WORKSPACE_PART,
    workspace_namespace,
)

Thing = dict[str, Any]

FLAVOR = "groundcrew-units"
SHARED_WORKSPACE = 0
"""The number that stands for all workspaces in reports about shared objects."""
UNCOUNTED = {"cpu": "1M", "memory": "1Pi", "ephemeral-storage": "1Pi", "rdma/hca": "1M"}
"""Kueue admits no workload that requests a resource without a quota. The pods' own limits bound these resources."""
NAMES_NAMESPACE = "kubernetes.io/metadata.name"
FORBIDDEN = {"services.loadbalancers": "0", "services.nodeports": "0"}
"""A workspace may offer nothing to the network outside the cluster."""


def shared_objects() -> list[Thing]:
    """The objects that are the same for every installation. They are created before all others."""
    flavor = object_head("ResourceFlavor", FLAVOR, labels={PART: WORKSPACE_PART})
    return [flavor | {"spec": {}}]


def workspace_objects(
    tenancy: WorkspaceNamespace, installation: str, masters: Sequence[str] = ()
) -> list[Thing]:
    """The objects in the order of their creation: what restricts comes before what admits.

    `masters` are the address blocks from which the portal reaches notebooks.
    """
    return [
        namespace_object(tenancy, installation),
        service_account(tenancy, installation),
        *network_policies(tenancy, installation, masters),
        resource_quota(tenancy, installation),
        limit_range(tenancy, installation),
        cluster_queue(tenancy, installation),
        local_queue(tenancy, installation),
    ]


def object_of_installation(
    kind: str, name: str, installation: str, workspace: int, namespace: str = ""
) -> Thing:
    labels = {INSTALLATION: installation, PART: WORKSPACE_PART, WORKSPACE: str(workspace)}
    return object_head(kind, name, namespace, labels)


def object_in_namespace(kind: str, name: str, tenancy: WorkspaceNamespace, installation: str) -> Thing:
    return object_of_installation(
        kind, name, installation, tenancy.workspace, workspace_namespace(tenancy.workspace)
    )


def namespace_object(tenancy: WorkspaceNamespace, installation: str) -> Thing:
    """The namespace with its Pod Security labels.
    https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
    """
    thing = object_of_installation(
        "Namespace", workspace_namespace(tenancy.workspace), installation, tenancy.workspace
    )
    thing["metadata"]["labels"] |= {
        f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")
    }
    thing["metadata"]["labels"]["pod-security.kubernetes.io/enforce-version"] = "latest"
    thing["metadata"]["annotations"] = {"groundcrew.io/workspace-name": tenancy.name}
    return thing


def service_account(tenancy: WorkspaceNamespace, installation: str) -> Thing:
    """The account of pods that name none. Its token is not mounted into them."""
    return object_in_namespace("ServiceAccount", "default", tenancy, installation) | {
        "automountServiceAccountToken": False
    }


def network_policies(tenancy: WorkspaceNamespace, installation: str, masters: Sequence[str]) -> list[Thing]:
    """Blocks all traffic except DNS, traffic between pods of the workspace, and the portal's to notebooks."""
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
            "podSelector": {"matchLabels": {WEB_LABEL: WEB}},
            "policyTypes": ["Ingress"],
            **notebook_ingress_policy(masters),
        },
    }
    return [
        object_in_namespace("NetworkPolicy", name, tenancy, installation) | {"spec": spec}
        for name, spec in specs.items()
    ]


def notebook_ingress_policy(masters: Sequence[str]) -> Thing:
    """Allows the portal's traffic to notebooks. Without a known master there is no rule, because one without
    addresses allows everybody.
    """
    if not masters:
        return {}
    ports = [{"protocol": "TCP", "port": jupyter_server.PORT}]
    return {"ingress": [{"from": [{"ipBlock": {"cidr": block}} for block in masters], "ports": ports}]}


def resource_quota(tenancy: WorkspaceNamespace, installation: str) -> Thing:
    """The quota also limits workloads that bypass Kueue."""
    hard = {f"requests.{GPU_RESOURCE}": str(tenancy.units), **FORBIDDEN}
    return object_in_namespace("ResourceQuota", "term", tenancy, installation) | {"spec": {"hard": hard}}


def limit_range(tenancy: WorkspaceNamespace, installation: str) -> Thing:
    """The limits of containers that set none themselves."""
    container = {
        "type": "Container",
        "default": {"cpu": "1", "memory": "1Gi"},
        "defaultRequest": {"cpu": "100m", "memory": "256Mi"},
    }
    return object_in_namespace("LimitRange", "modest", tenancy, installation) | {
        "spec": {"limits": [container]}
    }


def cluster_queue(tenancy: WorkspaceNamespace, installation: str) -> Thing:
    """`Hold` admits nothing new and ends nothing that runs. There is no cohort, because the scheduler decides about
    lending.

    https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/
    """
    name = workspace_namespace(tenancy.workspace)
    quotas = {**UNCOUNTED, GPU_RESOURCE: str(tenancy.units)}
    flavor = {
        "name": FLAVOR,
        "resources": [{"name": resource, "nominalQuota": quantity} for resource, quantity in quotas.items()],
    }
    return object_of_installation("ClusterQueue", name, installation, tenancy.workspace) | {
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


def local_queue(tenancy: WorkspaceNamespace, installation: str) -> Thing:
    spec = {"clusterQueue": workspace_namespace(tenancy.workspace), "stopPolicy": "None"}
    return object_in_namespace("LocalQueue", LOCAL_QUEUE, tenancy, installation) | {"spec": spec}


def object_key_of(thing: Thing) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    return thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


KINDS_IN_ORDER: Sequence[str] = (
    "ResourceFlavor", "Namespace", "ServiceAccount", "NetworkPolicy", "ResourceQuota", "LimitRange",
    "ClusterQueue", "LocalQueue",
)  # fmt: skip
