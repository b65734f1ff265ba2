"""Compares an object with its manifest, and builds the patch that removes what others have added."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cluster.domain.kubernetes.api_objects import parse_quantity

Thing = dict[str, Any]
FINGERPRINT = "groundcrew.io/wanted"
"""The annotation with a digest of what we wrote last. If it equals that of what we want now, somebody else changed
the object since.
"""
PARTLY_OURS = frozenset({"Namespace", "ServiceAccount"})
"""In objects of these kinds only our own fields are compared, because others add fields."""
ABSENT = None


@dataclass(frozen=True)
class FieldDifference:
    """The values at `path`, as (spec, hard, pods). `found` or `wanted` is None if there is no value."""

    path: tuple[str, ...]
    found: Any
    wanted: Any

    def to_data(self) -> dict[str, Any]:
        return {"path": " ".join(self.path), "found": self.found, "wanted": self.wanted}


def with_fingerprint(thing: Thing) -> Thing:
    """The object with the fingerprint of what we want."""
    about = thing["metadata"]
    annotations = {**about.get("annotations", {}), FINGERPRINT: object_fingerprint(thing)}
    return thing | {"metadata": about | {"annotations": annotations}}


def object_fingerprint(thing: Thing) -> str:
    return hashlib.sha256(json.dumps(thing, sort_keys=True).encode()).hexdigest()[:16]


def was_written_by_us(thing: Thing, found: Thing) -> bool:
    """Whether our last write was exactly this object. If so, somebody else made the differences."""
    annotations = found["metadata"].get("annotations") or {}
    return bool(annotations.get(FINGERPRINT) == object_fingerprint(thing))


def find_differences(thing: Thing, found: Thing) -> list[FieldDifference]:
    """Compares our labels and annotations, and all other fields that are not the API server's."""
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
    """Compares quantities by value, because the API server may return 1M as 1000k. An empty value equals a missing
    one.
    """
    if wanted == found or (not wanted and not found and wanted is not False and found is not False):
        return True
    if not (isinstance(wanted, str) and isinstance(found, str | int)) or isinstance(found, bool):
        return False
    number = parse_quantity(wanted)
    return number != 0 and number == parse_quantity(found)


def removal_patch(differences: list[FieldDifference]) -> Thing:
    """A merge patch that removes what was added; empty if nothing was. Lists are replaced as a whole and need no
    patch.
    """
    patch: Thing = {}
    for difference in filter(is_removed, differences):
        *way, last = difference.path
        inner = patch
        for step in way:
            inner = inner.setdefault(step, {})
        inner[last] = None
    return patch


def is_removed(difference: FieldDifference) -> bool:
    """Whether the difference is a field that has to be removed by its name, before the object is written."""
    way = difference.path[:-1]
    is_in_a_list = any(step.isdigit() for step in way)
    return difference.wanted is ABSENT and not is_in_a_list and way[:1] != ("metadata",)


def find_overruled(
    thing: Thing, differences: list[FieldDifference], removed: Thing | None, written: Thing
) -> tuple[FieldDifference, ...]:
    """The differences that our own write has not removed, as the API server's answer to the write shows.

    Nobody else writes between request and answer, so they come from defaults or from a webhook.
    """
    after_removal = find_differences(thing, removed) if removed else []
    after_writing = find_differences(thing, written)
    return tuple(
        each for each in differences if each in (after_removal if is_removed(each) else after_writing)
    )
