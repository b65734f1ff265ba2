"""Keeps the objects of workspaces equal to what they should be: one look at all, one write per difference."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cluster.domain.kube.tenancies import Tenancy
from worker.kube.api import FIELD_MANAGER, Api, Refused
from worker.kube.names import INSTALLATION, PART, TENANT
from worker.kube.tenants.differences import (
    ABSENT,
    WANTED,
    Difference,
    find_differences,
    find_lasting,
    is_our_last_word,
    marked,
    removal_of,
)
from worker.kube.tenants.masters import CONTROL_PLANE, blocks_of_masters
from worker.kube.tenants.objects import KINDS_IN_ORDER, SHARED, Thing, key_of, objects_of, shared_objects

Key = tuple[str, str, str]
"""Kind, namespace, name."""
CONFLICT = 409
AGAIN_SECONDS = 3600.0
"""Whoever insists on something else than we want may have gone meanwhile."""
FOREIGN = "it is not ours: another installation's, or made by hand"
MADE_BY_KUBERNETES = frozenset({"ServiceAccount"})
"""Each namespace has its `default` before we come."""
SHARED_BY_ALL = frozenset({"ResourceFlavor"})
"""The same for every installation."""


class What(StrEnum):
    MADE = "made"
    MADE_AGAIN = "made_again"
    """Somebody had deleted it."""
    FOLLOWED = "followed"
    """The workspace has changed, or what we make of one."""
    PUT_RIGHT = "put_right"
    """Somebody had changed it by hand."""
    LEFT = "left"
    """The API server itself puts more into it than we do, a default or a webhook's: that stays, and is told once."""


@dataclass(frozen=True)
class Change:
    """`by`: who else had written to it, as the API server knows them (kubectl-edit, kubectl-patch …)."""

    workspace: int
    what: What
    key: Key
    differences: tuple[Difference, ...] = ()
    by: tuple[str, ...] = ()

    @property
    def is_by_hand(self) -> bool:
        return self.what in (What.MADE_AGAIN, What.PUT_RIGHT)


@dataclass(frozen=True)
class Refusal:
    """Kubernetes did not let us: `message` in its own words."""

    workspace: int
    key: Key
    status: int
    message: str


@dataclass
class Kept:
    """`going`: workspaces whose namespace somebody is deleting; it is made anew once it is gone."""

    changes: list[Change] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    going: list[int] = field(default_factory=list)


class Keeper:
    """Safe to kill anywhere, and a second one is harmless: what it knows is in the cluster.

    In memory is only what has stood at the last look, and what no write of ours can change; forgetting that costs
    a word in a log, and a write.
    """

    def __init__(self, api: Api, installation: str, steady: Callable[[], float] = time.monotonic) -> None:
        self.api = api
        self.installation = installation
        self.stood: set[Key] = set()
        self.lasting: dict[Key, tuple[Difference, ...]] = {}
        """What the API server makes otherwise, however often we write: not written again, or seldom."""
        self.steady = steady
        self.tried: dict[Key, float] = {}

    def keep(self, tenancies: Collection[Tenancy], kept: Kept | None = None) -> Kept:
        """What of these is not as it should be is written; nobody else's objects are touched. Raises NoAnswer.

        `kept` then says what was done until then.
        """
        kept = Kept() if kept is None else kept
        found, masters = self.read(), self.read_masters()
        for thing in shared_objects():
            self.keep_one(kept, SHARED, thing, found)
        for tenancy in tenancies:
            things = objects_of(tenancy, self.installation, masters)
            if is_going(found.get(key_of(things[0]))):
                kept.going.append(tenancy.workspace)
                continue
            namespace, *rest = things
            # Where that is not ours to have, nothing of ours has a place.
            if self.keep_one(kept, tenancy.workspace, namespace, found):
                for thing in rest:
                    self.keep_one(kept, tenancy.workspace, thing, found)
        return kept

    def read(self) -> dict[Key, Thing]:
        """Every object of a workspace, of whichever installation."""
        labels = f"{PART}={TENANT}"
        listed = (each for kind in KINDS_IN_ORDER for each in self.api.list_all(kind, labels).things)
        return {key_of(each): each for each in listed}

    def read_masters(self) -> list[str]:
        """Where the portal speaks from, as blocks of addresses."""
        return blocks_of_masters(self.api.list_all("Node", CONTROL_PLANE).things)

    def keep_one(self, kept: Kept, workspace: int, thing: Thing, found: Mapping[Key, Thing]) -> bool:
        """Whether it stands now."""
        key = key_of(thing)
        # One that has lost its labels is not in the list, and is none that was deleted.
        there = found.get(key) or self.api.get(key[0], key[2], key[1])
        if there and self.is_foreign(there):
            kept.refusals.append(Refusal(workspace, key, CONFLICT, FOREIGN))
            return False
        differences = find_differences(thing, there) if there else []
        overruled = [each for each in differences if each.wanted is not ABSENT]
        if (
            not there
            or any(each not in self.lasting.get(key, ()) for each in differences)
            or (overruled and self.steady() - self.tried[key] > AGAIN_SECONDS)
        ):
            try:
                self.write(kept, workspace, thing, there, differences)
            except Refused as refusal:
                kept.refusals.append(Refusal(workspace, key, refusal.status, refusal.message))
                return False
        if told := [each for each in overruled if each in self.lasting[key]]:
            kept.refusals.append(Refusal(workspace, key, CONFLICT, say_overruled(told)))
        self.stood.add(key)
        return True

    def write(
        self, kept: Kept, workspace: int, thing: Thing, there: Thing | None, differences: list[Difference]
    ) -> None:
        """Raises Refused."""
        key, removed = key_of(thing), None
        if removal := removal_of(differences):
            removed = self.api.change(key[0], key[2], key[1], removal)
        written = self.api.apply(marked(thing))
        before, self.tried[key] = self.lasting.get(key, ()), self.steady()
        lasting = self.lasting[key] = find_lasting(thing, differences, removed, written)
        changed = tuple(each for each in differences if each not in lasting)
        if there and not changed:
            if lasting != before:
                kept.changes.append(Change(workspace, What.LEFT, key, lasting))
            return
        by = tuple(other_hands(there)) if there else ()
        kept.changes.append(Change(workspace, self.name_change(thing, there), key, changed, by))

    def is_foreign(self, there: Thing) -> bool:
        """Of another installation, or made by others under a name that we would give."""
        about = there["metadata"]
        owner = (about.get("labels") or {}).get(INSTALLATION)
        if owner is not None or there["kind"] in MADE_BY_KUBERNETES:
            return there["kind"] not in SHARED_BY_ALL and owner not in (None, self.installation)
        return WANTED not in (about.get("annotations") or {})

    def name_change(self, thing: Thing, there: Thing | None) -> What:
        if there is None:
            return What.MADE_AGAIN if key_of(thing) in self.stood else What.MADE
        return What.PUT_RIGHT if is_our_last_word(thing, there) else What.FOLLOWED


def is_going(namespace: Thing | None) -> bool:
    return namespace is not None and bool(namespace["metadata"].get("deletionTimestamp"))


def say_overruled(differences: list[Difference]) -> str:
    told = (f"{' '.join(each.path)} is {each.found}, not {each.wanted}" for each in differences)
    return f"it is changed while it is written: {'; '.join(told)}"


def other_hands(thing: Thing) -> Iterator[str]:
    """https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management"""
    managers: list[dict[str, Any]] = thing["metadata"].get("managedFields") or []
    names = {str(each.get("manager", "")) for each in managers if not each.get("subresource")}
    yield from sorted(names - {FIELD_MANAGER, ""})
