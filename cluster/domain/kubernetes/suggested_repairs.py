"""The repairs to suggest for each problem of Kubernetes, the least invasive first; when certificates end."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

REPAIRS_BY_CODE: Mapping[str, tuple[str, ...]] = {
    "kubernetes.node_silent": (
        "restart-kubelet", "reconnect-kubernetes-node", "reboot-node", "reinitialise-kubernetes-worker",
    ),
    "kubernetes.engine_down": ("restart-container-engine", "restart-kubelet"),
    "kubernetes.network_down": ("reconnect-kubernetes-node",),
    "kubernetes.shutting_down": ("reboot-node",),
    "kubernetes.no_words": ("restart-kubelet", "reinitialise-kubernetes-worker"),
    "pressure.disk": ("free-disk-space",),
    "pressure.memory": (),
    "pressure.pid": (),
    "kubernetes.closed": ("reconnect-kubernetes-node",),
    "kubernetes.node_missing": ("reinitialise-kubernetes-worker",),
    "operator": ("reinitialise-kubernetes-addons",),
    "certificates": ("renew-kubernetes-certificates",),
    "silent": ("reinitialise-kubernetes-master",),
}  # fmt: skip
"""By the code of what is wrong; names of ansible/repairs."""
CERTIFICATES_SOON_DAYS = 30
CERTIFICATES_FACT = "kubernetes_certificates"
"""Of a node's facts: when each certificate of the control plane ends, by name."""


def first_certificate_to_end(facts: Mapping[str, Any]) -> tuple[datetime, str] | None:
    """When the certificate that ends first ends, and its name; None if the agent reported none."""
    told = facts.get(CERTIFICATES_FACT)
    ends: list[tuple[datetime, str]] = []
    for name, moment in told.items() if isinstance(told, dict) else ():
        try:
            end = datetime.fromisoformat(str(moment))
            if end.tzinfo is not None:
                ends.append((end.astimezone(UTC), str(name)))
        except (ValueError, OverflowError):
            continue
    return min(ends, default=None)


def soonest_certificate_end(facts: Mapping[str, Any], now: datetime) -> tuple[str, int] | None:
    """The certificate that ends first and its whole days, negative once it has ended; None where none was told."""
    first = first_certificate_to_end(facts)
    return (first[1], (first[0] - now).days) if first else None
