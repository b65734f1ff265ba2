"""Small reads of the plain dictionaries: conditions, moments, quantities; what is not there is empty."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

Object = Mapping[str, Any]
"""As the API server answers: apiVersion, kind, metadata, spec, status."""

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


def conditions_of(thing: Object) -> dict[str, Object]:
    """By type."""
    return {str(each.get("type", "")): each for each in (thing.get("status") or {}).get("conditions") or ()}


def is_true(condition: Object | None) -> bool:
    return condition is not None and condition.get("status") == "True"


def since_of(condition: Object) -> datetime | None:
    """When it became so; aware UTC."""
    told = condition.get("lastTransitionTime")
    return moment(told) if told else None


def moment(told: object) -> datetime:
    """`2026-11-21T10:00:00Z`, as the API writes them."""
    return datetime.fromisoformat(str(told))


def full_name(thing: Object) -> str:
    """namespace/name."""
    return f"{thing['metadata'].get('namespace', '')}/{thing['metadata']['name']}".lstrip("/")


def quantity(value: object) -> Decimal:
    """`500m`, `2`, `4Gi` as a number; 0 where it is none.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
    """
    text = str(value or "0")
    digits = text.rstrip("numkMGTPEi")
    try:
        return Decimal(digits) * SUFFIXES.get(text[len(digits) :], Decimal(1))
    except InvalidOperation:
        return Decimal(0)


def requests_of(pod: Object, resource: str) -> int:
    """Whole units that a pod asks for."""
    return int(asked_of(pod, resource))


def asked_of(pod: Object, resource: str) -> Decimal:
    """What a pod asks for: the sum of its containers, or its largest single step of preparation.

    https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers
    """
    spec = pod.get("spec") or {}

    def asked(container: Object) -> Decimal:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        return quantity(requests.get(resource, limits.get(resource, 0)))

    prepared: Iterable[Object] = spec.get("initContainers") or ()
    together = sum(map(asked, spec.get("containers") or ()), Decimal(0))
    return max([together, *map(asked, prepared)])
