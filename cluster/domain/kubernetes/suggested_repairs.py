"""The repairs to suggest for each problem of Kubernetes, the least invasive first, and the end of certificates."""

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
"""The names of repairs in ansible/repairs, by the code of the problem."""
CERTIFICATES_SOON_DAYS = 30
CERTIFICATES_FACT = "kubernetes_certificates"
"""The node fact with the end of each certificate of the control plane, by name."""


def first_certificate_to_end(facts: Mapping[str, Any]) -> tuple[datetime, str] | None:
    """The end of the certificate that expires first, and its name; None if the agent reported no certificate."""
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
    """The certificate that expires first and its remaining whole days, negative after its end. None if none was
    reported.
    """
    first = first_certificate_to_end(facts)
    return (first[1], (first[0] - now).days) if first else None
