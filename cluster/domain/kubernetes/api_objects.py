"""Read fields of Kubernetes API objects: conditions, times, quantities; a missing field is empty."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

ApiObject = Mapping[str, Any]
"""An object as the API server returns it: apiVersion, kind, metadata, spec, status."""

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


def conditions_of(thing: ApiObject) -> dict[str, ApiObject]:
    """The conditions of an object's status, by their type."""
    return {str(each.get("type", "")): each for each in (thing.get("status") or {}).get("conditions") or ()}


def is_condition_true(condition: ApiObject | None) -> bool:
    return condition is not None and condition.get("status") == "True"


def true_since(condition: ApiObject) -> datetime | None:
    """When the condition got its present status; aware UTC."""
    changed_at = condition.get("lastTransitionTime")
    return parse_api_time(changed_at) if changed_at else None


def parse_api_time(text: object) -> datetime:
    """Parses a time as the API writes it: `2026-11-21T10:00:00Z`."""
    return datetime.fromisoformat(str(text))


def namespaced_name(thing: ApiObject) -> str:
    """`namespace/name`, or `name` for an object of the whole cluster."""
    return f"{thing['metadata'].get('namespace', '')}/{thing['metadata']['name']}".lstrip("/")


def parse_quantity(value: object) -> Decimal:
    """Parses `500m`, `2` or `4Gi` to a number; 0 if the value is no quantity.

    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
    """
    text = str(value or "0")
    digits = text.rstrip("numkMGTPEi")
    try:
        return Decimal(digits) * SUFFIXES.get(text[len(digits) :], Decimal(1))
    except InvalidOperation:
        return Decimal(0)


def requested_units(pod: ApiObject, resource: str) -> int:
    """The whole units that a pod requests."""
    return int(requested_amount(pod, resource))


def requested_amount(pod: ApiObject, resource: str) -> Decimal:
    """The amount that a pod requests: the sum of its containers, or its largest init container if that is more.

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
