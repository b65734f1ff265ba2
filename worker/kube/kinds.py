"""The kinds of objects that are read or written here, and where the API server has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True)
class Kind:
    version: str
    """`v1`, or `group/version`."""
    plural: str
    has_namespace: bool = True

    def path(self, namespace: str = "", name: str = "") -> str:
        """Without a namespace: of all of them."""
        parts = ["", "apis" if "/" in self.version else "api", *self.version.split("/")]
        parts += ["namespaces", quote(namespace, safe="")] if self.has_namespace and namespace else []
        parts += [self.plural, quote(name, safe="")] if name else [self.plural]
        return "/".join(parts)


APPS, BATCH, KUEUE, NETWORK, RIGHTS = (
    "apps/v1",
    "batch/v1",
    "kueue.x-k8s.io/v1beta2",
    "networking.k8s.io/v1",
    "rbac.authorization.k8s.io/v1",
)
ADMISSION = "admissionregistration.k8s.io/v1"
KINDS: Mapping[str, Kind] = {
    "ClusterQueue": Kind(KUEUE, "clusterqueues", has_namespace=False),
    "ConfigMap": Kind("v1", "configmaps"),
    "CustomResourceDefinition": Kind(
        "apiextensions.k8s.io/v1", "customresourcedefinitions", has_namespace=False
    ),
    "ClusterRole": Kind(RIGHTS, "clusterroles", has_namespace=False),
    "ClusterRoleBinding": Kind(RIGHTS, "clusterrolebindings", has_namespace=False),
    "DaemonSet": Kind(APPS, "daemonsets"),
    "Deployment": Kind(APPS, "deployments"),
    "Event": Kind("v1", "events"),
    "Job": Kind(BATCH, "jobs"),
    "LimitRange": Kind("v1", "limitranges"),
    "LocalQueue": Kind(KUEUE, "localqueues"),
    "MPIJob": Kind("kubeflow.org/v2beta1", "mpijobs"),
    "MutatingWebhookConfiguration": Kind(ADMISSION, "mutatingwebhookconfigurations", has_namespace=False),
    "Namespace": Kind("v1", "namespaces", has_namespace=False),
    "NetworkPolicy": Kind(NETWORK, "networkpolicies"),
    "Node": Kind("v1", "nodes", has_namespace=False),
    "PersistentVolume": Kind("v1", "persistentvolumes", has_namespace=False),
    "PersistentVolumeClaim": Kind("v1", "persistentvolumeclaims"),
    "Pod": Kind("v1", "pods"),
    "ResourceFlavor": Kind(KUEUE, "resourceflavors", has_namespace=False),
    "ResourceQuota": Kind("v1", "resourcequotas"),
    "Role": Kind(RIGHTS, "roles"),
    "RoleBinding": Kind(RIGHTS, "rolebindings"),
    "Secret": Kind("v1", "secrets"),
    "Service": Kind("v1", "services"),
    "ServiceAccount": Kind("v1", "serviceaccounts"),
    "StatefulSet": Kind(APPS, "statefulsets"),
    "ValidatingAdmissionPolicy": Kind(ADMISSION, "validatingadmissionpolicies", has_namespace=False),
    "ValidatingAdmissionPolicyBinding": Kind(
        ADMISSION, "validatingadmissionpolicybindings", has_namespace=False
    ),
    "ValidatingWebhookConfiguration": Kind(ADMISSION, "validatingwebhookconfigurations", has_namespace=False),
    "Workload": Kind(KUEUE, "workloads"),
    "WorkloadPriorityClass": Kind(KUEUE, "workloadpriorityclasses", has_namespace=False),
}


def head(
    kind: str, name: str, namespace: str = "", labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """How an object begins: its version, kind and metadata."""
    metadata: dict[str, Any] = {"name": name, "labels": dict(labels or {})}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": metadata}
