"""Keeps the namespaces of workspaces equal to their rows: reads all objects once, then writes those that differ."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace
from worker.kubernetes.api_client import FIELD_MANAGER, ApiRefused, KubernetesApi
from worker.kubernetes.namespaces.drift import (
    ABSENT,
    FINGERPRINT,
    FieldDifference,
    find_differences,
    find_overruled,
    removal_patch,
    was_written_by_us,
    with_fingerprint,
)
from worker.kubernetes.namespaces.portal_addresses import CONTROL_PLANE, portal_address_blocks
from worker.kubernetes.namespaces.workspace_objects import (
    KINDS_IN_ORDER,
    SHARED_WORKSPACE,
    Thing,
    object_key_of,
    shared_objects,
    workspace_objects,
)
from worker.kubernetes.object_names import INSTALLATION, PART, WORKSPACE_PART

ObjectKey = tuple[str, str, str]
"""Kind, namespace and name."""
CONFLICT = 409
RETRY_OVERRULED_SECONDS = 3600.0
"""Seconds until an overruled field is written again: the other controller that changes it may have stopped."""
FOREIGN = "it is not ours: another installation's, or made by hand"
MADE_BY_KUBERNETES = frozenset({"ServiceAccount"})
"""Kubernetes creates these objects in each namespace: its `default` service account."""
SHARED_BY_ALL = frozenset({"ResourceFlavor"})
"""These objects are the same for every installation."""


class ChangeKind(StrEnum):
    MADE = "made"
    MADE_AGAIN = "made_again"
    """Somebody had deleted the object."""
    FOLLOWED = "followed"
    """The workspace has changed, or the way in which its objects are made."""
    PUT_RIGHT = "put_right"
    """Somebody had changed the object by hand."""
    LEFT = "left"
    """The API server itself changes the object, by a default or a webhook. That is accepted and reported once."""


@dataclass(frozen=True)
class ObjectChange:
    """`other_managers` are the field managers of others that wrote the object, as kubectl-edit or kubectl-patch."""

    workspace: int
    kind: ChangeKind
    key: ObjectKey
    differences: tuple[FieldDifference, ...] = ()
    other_managers: tuple[str, ...] = ()

    @property
    def is_by_hand(self) -> bool:
        return self.kind in (ChangeKind.MADE_AGAIN, ChangeKind.PUT_RIGHT)


@dataclass(frozen=True)
class WriteRefusal:
    """Kubernetes refused the write; `message` is its reason."""

    workspace: int
    key: ObjectKey
    status: int
    message: str


@dataclass
class SyncReport:
    """`deleting` are workspaces whose namespace is being deleted. It is created again once it is gone."""

    changes: list[ObjectChange] = field(default_factory=list)
    refusals: list[WriteRefusal] = field(default_factory=list)
    deleting: list[int] = field(default_factory=list)


class NamespaceSync:
    """Creates and mends the namespaces. It can be killed at any moment, and two of them do no harm, because all state
    is in the cluster.

    Memory only contains what existed in the last sync and what our writes cannot change. If it is lost, the only
    effects are a log line and a write.
    """

    def __init__(
        self, api: KubernetesApi, installation: str, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self.api = api
        self.installation = installation
        self.present: set[ObjectKey] = set()
        self.overruled: dict[ObjectKey, tuple[FieldDifference, ...]] = {}
        """The differences that the API server makes again after each write. They are written again only seldom."""
        self.steady = steady
        self.tried: dict[ObjectKey, float] = {}

    def sync(self, tenancies: Collection[WorkspaceNamespace], kept: SyncReport | None = None) -> SyncReport:
        """Writes the objects of these workspaces that differ, and no objects of others. Raises ApiUnreachable. If it
        raises, `kept` has what was done until then.
        """
        kept = SyncReport() if kept is None else kept
        found, masters = self.read(), self.read_masters()
        for thing in shared_objects():
            self.sync_object(kept, SHARED_WORKSPACE, thing, found)
        for tenancy in tenancies:
            things = workspace_objects(tenancy, self.installation, masters)
            if is_namespace_deleting(found.get(object_key_of(things[0]))):
                kept.deleting.append(tenancy.workspace)
                continue
            namespace, *rest = things
            # Without the namespace, no object in it can be ours.
            if self.sync_object(kept, tenancy.workspace, namespace, found):
                for thing in rest:
                    self.sync_object(kept, tenancy.workspace, thing, found)
        return kept

    def read(self) -> dict[ObjectKey, Thing]:
        """Reads every object of workspaces, of all installations."""
        labels = f"{PART}={WORKSPACE_PART}"
        listed = (each for kind in KINDS_IN_ORDER for each in self.api.list_all(kind, labels).things)
        return {object_key_of(each): each for each in listed}

    def read_masters(self) -> list[str]:
        """The addresses of the masters, from which the portal reaches pods."""
        return portal_address_blocks(self.api.list_all("Node", CONTROL_PLANE).things)

    def sync_object(
        self, kept: SyncReport, workspace: int, thing: Thing, found: Mapping[ObjectKey, Thing]
    ) -> bool:
        """Makes one object as it should be. Returns whether it exists now."""
        key = object_key_of(thing)
        # An object without its labels is not in the list, but was not deleted.
        there = found.get(key) or self.api.get(key[0], key[2], key[1])
        if there and self.is_foreign(there):
            kept.refusals.append(WriteRefusal(workspace, key, CONFLICT, FOREIGN))
            return False
        differences = find_differences(thing, there) if there else []
        overruled = [each for each in differences if each.wanted is not ABSENT]
        if (
            not there
            or any(each not in self.overruled.get(key, ()) for each in differences)
            or (overruled and self.steady() - self.tried[key] > RETRY_OVERRULED_SECONDS)
        ):
            try:
                self.write(kept, workspace, thing, there, differences)
            except ApiRefused as refusal:
                kept.refusals.append(WriteRefusal(workspace, key, refusal.status, refusal.message))
                return False
        if told := [each for each in overruled if each in self.overruled[key]]:
            kept.refusals.append(WriteRefusal(workspace, key, CONFLICT, overruled_text(told)))
        self.present.add(key)
        return True

    def write(
        self,
        kept: SyncReport,
        workspace: int,
        thing: Thing,
        there: Thing | None,
        differences: list[FieldDifference],
    ) -> None:
        """Writes the object. Raises ApiRefused."""
        key, removed = object_key_of(thing), None
        if removal := removal_patch(differences):
            removed = self.api.patch(key[0], key[2], key[1], removal)
        written = self.api.apply(with_fingerprint(thing))
        before, self.tried[key] = self.overruled.get(key, ()), self.steady()
        lasting = self.overruled[key] = find_overruled(thing, differences, removed, written)
        changed = tuple(each for each in differences if each not in lasting)
        if there and not changed:
            if lasting != before:
                kept.changes.append(ObjectChange(workspace, ChangeKind.LEFT, key, lasting))
            return
        by = tuple(other_field_managers(there)) if there else ()
        kept.changes.append(ObjectChange(workspace, self.name_change(thing, there), key, changed, by))

    def is_foreign(self, there: Thing) -> bool:
        """Whether the object belongs to another installation, or others created it under one of our names."""
        about = there["metadata"]
        owner = (about.get("labels") or {}).get(INSTALLATION)
        if owner is not None or there["kind"] in MADE_BY_KUBERNETES:
            return there["kind"] not in SHARED_BY_ALL and owner not in (None, self.installation)
        return FINGERPRINT not in (about.get("annotations") or {})

    def name_change(self, thing: Thing, there: Thing | None) -> ChangeKind:
        if there is None:
            return ChangeKind.MADE_AGAIN if object_key_of(thing) in self.present else ChangeKind.MADE
        return ChangeKind.PUT_RIGHT if was_written_by_us(thing, there) else ChangeKind.FOLLOWED


def is_namespace_deleting(namespace: Thing | None) -> bool:
    return namespace is not None and bool(namespace["metadata"].get("deletionTimestamp"))


def overruled_text(differences: list[FieldDifference]) -> str:
    told = (f"{' '.join(each.path)} is {each.found}, not {each.wanted}" for each in differences)
    return f"it is changed while it is written: {'; '.join(told)}"


def other_field_managers(thing: Thing) -> Iterator[str]:
    """The names of other field managers.
    https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
    """
    managers: list[dict[str, Any]] = thing["metadata"].get("managedFields") or []
    names = {str(each.get("manager", "")) for each in managers if not each.get("subresource")}
    yield from sorted(names - {FIELD_MANAGER, ""})
