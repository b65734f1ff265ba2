"""Compares an object with its manifest, and builds the patch that removes what others have added."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cluster.domain.kubernetes.api_objects import parse_quantity

Thing = dict[str, Any]
FINGERPRINT = "groundcrew.io/wanted"
"""An annotation: what we wrote last. Where it is what we want now, another hand has changed the object since."""
PARTLY_OURS = frozenset({"Namespace", "ServiceAccount"})
"""Of these the API server and others fill in fields of their own; what we set is looked at, and nothing else."""
ABSENT = None


@dataclass(frozen=True)
class FieldDifference:
    """`path` as (spec, hard, pods); `found` or `wanted` is None where there is nothing."""

    path: tuple[str, ...]
    found: Any
    wanted: Any

    def to_data(self) -> dict[str, Any]:
        return {"path": " ".join(self.path), "found": self.found, "wanted": self.wanted}


def with_fingerprint(thing: Thing) -> Thing:
    """With what we want written on it."""
    about = thing["metadata"]
    annotations = {**about.get("annotations", {}), FINGERPRINT: object_fingerprint(thing)}
    return thing | {"metadata": about | {"annotations": annotations}}


def object_fingerprint(thing: Thing) -> str:
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()[:16]


def was_written_by_us(thing: Thing, found: Thing) -> bool:
    """Whether we had already written exactly this: then a difference is somebody else's."""
    annotations = found["metadata"].get("annotations") or {}
    return bool(annotations.get(FINGERPRINT) == object_fingerprint(thing))


def find_differences(thing: Thing, found: Thing) -> list[FieldDifference]:
    """Labels and annotations of ours, and the whole of what the object is for."""
    told: list[FieldDifference] = []
    for part in ("labels", "annotations"):
        wanted = thing["metadata"].get(part, {})
        told += compare_fields(("metadata", part), wanted, found["metadata"].get(part) or {}, is_exact=False)
    for part in sorted(set(thing) - {"apiVersion", "kind", "metadata"}):
        is_exact = thing["kind"] not in PARTLY_OURS
        told += compare_fields((part,), thing[part], found.get(part, ABSENT), is_exact)
    return told


def compare_fields(
    path: tuple[str, ...], wanted: Any, found: Any, is_exact: bool
) -> Iterator[FieldDifference]:
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key in sorted({*wanted, *(found if is_exact else ())}):
            yield from compare_fields((*path, key), wanted.get(key, ABSENT), found.get(key, ABSENT), is_exact)
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from compare_fields((*path, str(number)), one, other, is_exact)
    elif not is_same_value(wanted, found):
        yield FieldDifference(path, found, wanted)


def is_same_value(wanted: Any, found: Any) -> bool:
    """The API server writes quantities in its own way: 1M may come back as 1000k. Nothing is what is empty."""
    if wanted == found or (not wanted and not found and wanted is not False and found is not False):
        return True
    if not (isinstance(wanted, str) and isinstance(found, str | int)) or isinstance(found, bool):
        return False
    number = parse_quantity(wanted)
    return number != 0 and number == parse_quantity(found)


def removal_patch(differences: list[FieldDifference]) -> Thing:
    """A merge patch without what was added; empty where nothing was. What stands in lists is written whole anyway."""
    patch: Thing = {}
    for difference in filter(is_removed, differences):
        *way, last = difference.path
        inner = patch
        for step in way:
            inner = inner.setdefault(step, {})
        inner[last] = None
    return patch


def is_removed(difference: FieldDifference) -> bool:
    """By name, before all that we want is written."""
    way = difference.path[:-1]
    is_in_a_list = any(step.isdigit() for step in way)
    return difference.wanted is ABSENT and not is_in_a_list and way[:1] != ("metadata",)


def find_overruled(
    thing: Thing, differences: list[FieldDifference], removed: Thing | None, written: Thing
) -> tuple[FieldDifference, ...]:
    """Those that our own write left as they were: the API server answers each write with what it made of it.

    Nobody else's write lies between question and answer, so that these are defaults, or a webhook's.
    """
    after_removal = find_differences(thing, removed) if removed else []
    after_writing = find_differences(thing, written)
    return tuple(
        each for each in differences if each in (after_removal if is_removed(each) else after_writing)
    )
