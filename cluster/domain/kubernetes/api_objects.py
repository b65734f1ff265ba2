"""Read fields of Kubernetes API objects: conditions, times, quantities; a missing field is empty."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

ApiObject = Mapping[str, Any]
"""As the API server answers: apiVersion, kind, metadata, spec, status."""

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


def conditions_of(thing: ApiObject) -> dict[str, ApiObject]:
    """By type."""
    return {str(each.get("type", "")): each for each in (thing.get("status") or {}).get("conditions") or ()}


def is_condition_true(condition: ApiObject | None) -> bool:
    return condition is not None and condition.get("status") == "True"


def true_since(condition: ApiObject) -> datetime | None:
    """When it became so; aware UTC."""
    told = condition.get("lastTransitionTime")
    return parse_api_time(told) if told else None


def parse_api_time(told: object) -> datetime:
    """`2026-11-21T10:00:00Z`, as the API writes them."""
    return datetime.fromisoformat(str(told))


def namespaced_name(thing: ApiObject) -> str:
    """namespace/name."""
    return f"{thing['metadata'].get('namespace', '')}/{thing['metadata']['name']}".lstrip("/")


def parse_quantity(value: object) -> Decimal:
    """`500m`, `2`, `4Gi` as a number; 0 where it is none.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
    """
    text = str(value or "0")
    digits = text.rstrip("numkMGTPEi")
    try:
        return Decimal(digits) * SUFFIXES.get(text[len(digits) :], Decimal(1))
    except InvalidOperation:
        return Decimal(0)


def requested_units(pod: ApiObject, resource: str) -> int:
    """Whole units that a pod asks for."""
    return int(requested_amount(pod, resource))


def requested_amount(pod: ApiObject, resource: str) -> Decimal:
    """What a pod asks for: the sum of its containers, or its largest single step of preparation.

    https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers
    """
    spec = pod.get("spec") or {}

    def asked(container: ApiObject) -> Decimal:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        return parse_quantity(requests.get(resource, limits.get(resource, 0)))

    prepared: Iterable[ApiObject] = spec.get("initContainers") or ()
    together = sum(map(asked, spec.get("containers") or ()), Decimal(0))
    return max([together, *map(asked, prepared)])
