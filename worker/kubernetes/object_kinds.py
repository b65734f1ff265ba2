"""The kinds of Kubernetes objects that we read or write, and their paths in the API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote


@dataclass(frozen=True)
class ObjectKind:
    version: str
    """The API version, as `v1` or `group/version`."""
    plural: str
    has_namespace: bool = True

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of the object, or of the list. Without a namespace it is the list of all namespaces."""
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
KINDS: Mapping[str, ObjectKind] = {
    "ClusterQueue": ObjectKind(KUEUE, "clusterqueues", has_namespace=False),
    "ConfigMap": ObjectKind("v1", "configmaps"),
    "CustomResourceDefinition": ObjectKind(
        "apiextensions.k8s.io/v1", "customresourcedefinitions", has_namespace=False
    ),
    "ClusterRole": ObjectKind(RIGHTS, "clusterroles", has_namespace=False),
    "ClusterRoleBinding": ObjectKind(RIGHTS, "clusterrolebindings", has_namespace=False),
    "DaemonSet": ObjectKind(APPS, "daemonsets"),
    "Deployment": ObjectKind(APPS, "deployments"),
    "Event": ObjectKind("v1", "events"),
    "Job": ObjectKind(BATCH, "jobs"),
    "Lease": ObjectKind("coordination.k8s.io/v1", "leases"),
    "LimitRange": ObjectKind("v1", "limitranges"),
    "LocalQueue": ObjectKind(KUEUE, "localqueues"),
    "MPIJob": ObjectKind("kubeflow.org/v2beta1", "mpijobs"),
    "MutatingWebhookConfiguration": ObjectKind(
        ADMISSION, "mutatingwebhookconfigurations", has_namespace=False
    ),
    "Namespace": ObjectKind("v1", "namespaces", has_namespace=False),
    "NetworkPolicy": ObjectKind(NETWORK, "networkpolicies"),
    "Node": ObjectKind("v1", "nodes", has_namespace=False),
    "PersistentVolume": ObjectKind("v1", "persistentvolumes", has_namespace=False),
    "PersistentVolumeClaim": ObjectKind("v1", "persistentvolumeclaims"),
    "Pod": ObjectKind("v1", "pods"),
    "ResourceFlavor": ObjectKind(KUEUE, "resourceflavors", has_namespace=False),
    "ResourceQuota": ObjectKind("v1", "resourcequotas"),
    "Role": ObjectKind(RIGHTS, "roles"),
    "RoleBinding": ObjectKind(RIGHTS, "rolebindings"),
    "Secret": ObjectKind("v1", "secrets"),
    "Service": ObjectKind("v1", "services"),
    "ServiceAccount": ObjectKind("v1", "serviceaccounts"),
    "StatefulSet": ObjectKind(APPS, "statefulsets"),
    "ValidatingAdmissionPolicy": ObjectKind(ADMISSION, "validatingadmissionpolicies", has_namespace=False),
    "ValidatingAdmissionPolicyBinding": ObjectKind(
        ADMISSION, "validatingadmissionpolicybindings", has_namespace=False
    ),
    "ValidatingWebhookConfiguration": ObjectKind(
        ADMISSION, "validatingwebhookconfigurations", has_namespace=False
    ),
    "Workload": ObjectKind(KUEUE, "workloads"),
    "WorkloadPriorityClass": ObjectKind(KUEUE, "workloadpriorityclasses", has_namespace=False),
}


def object_head(
    kind: str, name: str, namespace: str = "", labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The first fields of an object: version, kind and metadata."""
    metadata: dict[str, Any] = {"name": name, "labels": dict(labels or {})}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": metadata}
