"""Fields that an API server or a webhook fills in by itself are left as they are."""

import time
from copy import deepcopy
from typing import Any

import pytest

from cluster.domain.kubernetes.workspace_namespace import WorkspaceNamespace
from worker.kubernetes.api_client import KubernetesObject, ObjectList
from worker.kubernetes.namespaces.sync import RETRY_OVERRULED_SECONDS, ChangeKind, NamespaceSync, SyncReport
from worker.kubernetes.namespaces.workspace_objects import object_key_of
from worker.kubernetes.object_names import workspace_namespace

SPEECH = WorkspaceNamespace(7, "speech", 4, True)
QUEUE, DENY = ("ClusterQueue", "", workspace_namespace(7)), ("NetworkPolicy", workspace_namespace(7), "deny")


class Defaulting:
    """An API server of some later release: it fills in what nobody has set, and a webhook insists on its own."""

    def __init__(self) -> None:
        self.things: dict[tuple[str, str, str], KubernetesObject] = {}
        self.defaults: dict[tuple[str, str, str], KubernetesObject] = {}
        self.insists: dict[tuple[str, str, str], KubernetesObject] = {}
        self.writes: list[tuple[str, str]] = []

    def list_all(self, kind: str, labels: str = "") -> ObjectList:
        return ObjectList([deepcopy(each) for each in self.things.values() if each["kind"] == kind], "1")

    def get(self, kind: str, name: str, namespace: str = "") -> KubernetesObject | None:
        return deepcopy(self.things.get((kind, namespace, name)))

    def apply(self, thing: KubernetesObject) -> KubernetesObject:
        return self.put("apply", object_key_of(thing), thing)

    def patch(self, kind: str, name: str, namespace: str, patch: KubernetesObject) -> KubernetesObject | None:
        return self.put("change", (kind, namespace, name), patch)

    def put(self, verb: str, key: tuple[str, str, str], patch: KubernetesObject) -> KubernetesObject:
        self.writes.append((verb, key[0]))
        thing = merge(self.things.get(key, {}), patch)
        self.things[key] = merge(merge(self.defaults.get(key, {}), thing), self.insists.get(key, {}))
        return deepcopy(self.things[key])


def merge(thing: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(thing, dict):
        return deepcopy(patch)
    merged = {key: merge(thing.get(key), value) for key, value in patch.items() if value is not None}
    return {key: value for key, value in thing.items() if key not in patch} | merged


@pytest.fixture
def server() -> Defaulting:
    return Defaulting()


def keeper_of(server: Defaulting) -> NamespaceSync:
    api: Any = server
    return NamespaceSync(api, "here")


def told(kept: SyncReport) -> list[tuple[ChangeKind, str, list[str]]]:
    return [
        (change.kind, change.key[0], [" ".join(each.path) for each in change.differences])
        for change in kept.changes
    ]


def test_what_the_server_fills_in_is_told_once_and_never_put_right(server: Defaulting) -> None:
    server.defaults = {QUEUE: {"spec": {"scope": {"mode": "All"}}}, DENY: {"spec": {"order": 100}}}
    keeper = keeper_of(server)
    keeper.sync([SPEECH])
    again = keeper.sync([SPEECH])
    assert told(again) == [
        (ChangeKind.LEFT, "NetworkPolicy", ["spec order"]),
        (ChangeKind.LEFT, "ClusterQueue", ["spec scope"]),
    ]
    assert not any(change.is_by_hand for change in again.changes) and not again.refusals
    server.writes.clear()
    for _ in range(3):
        assert keeper.sync([SPEECH]) == SyncReport()
    assert not server.writes


def test_a_hand_beside_the_servers_own_is_put_right(server: Defaulting) -> None:
    server.defaults = {DENY: {"spec": {"order": 100}}}
    keeper = keeper_of(server)
    keeper.sync([SPEECH])
    keeper.sync([SPEECH])
    server.things[DENY]["spec"]["ingress"] = [{}]
    assert told(keeper.sync([SPEECH])) == [(ChangeKind.PUT_RIGHT, "NetworkPolicy", ["spec ingress"])]
    assert "ingress" not in server.things[DENY]["spec"]
    assert keeper.sync([SPEECH]) == SyncReport()


def test_a_default_that_somebody_changed_is_a_hands_work(server: Defaulting) -> None:
    server.defaults = {DENY: {"spec": {"order": 100}}}
    keeper = keeper_of(server)
    keeper.sync([SPEECH])
    keeper.sync([SPEECH])
    server.things[DENY]["spec"]["order"] = 1
    assert told(keeper.sync([SPEECH])) == [(ChangeKind.PUT_RIGHT, "NetworkPolicy", ["spec order"])]
    assert server.things[DENY]["spec"]["order"] == 100
    keeper.sync([SPEECH])
    assert keeper.sync([SPEECH]) == SyncReport()


def test_who_is_faster_than_we_are_is_not_taken_for_the_server(server: Defaulting) -> None:
    """Between our two writes a controller of somebody else's puts back what the first has taken away."""
    keeper = keeper_of(server)
    keeper.sync([SPEECH])
    applies = server.apply

    def opened_meanwhile(thing: KubernetesObject) -> KubernetesObject:
        if object_key_of(thing) == DENY:
            server.things[DENY]["spec"]["ingress"] = [{}]
        return applies(thing)

    server.things[DENY]["spec"]["ingress"] = [{}]
    server.apply = opened_meanwhile  # type: ignore[method-assign]
    for _ in range(3):
        assert told(keeper.sync([SPEECH])) == [(ChangeKind.PUT_RIGHT, "NetworkPolicy", ["spec ingress"])]


def test_a_webhook_that_makes_something_else_of_what_we_want_is_named_and_not_fought(
    server: Defaulting,
) -> None:
    server.insists = {QUEUE: {"spec": {"stopPolicy": "Hold"}}}
    keeper = keeper_of(server)
    keeper.sync([SPEECH])
    for _ in range(3):
        kept = keeper.sync([SPEECH])
        assert [(each.key, each.message) for each in kept.refusals] == [
            (QUEUE, "it is changed while it is written: spec stopPolicy is Hold, not None")
        ]
    assert server.writes.count(("apply", "ClusterQueue")) == 2
    server.insists = {}
    keeper.steady = lambda: time.monotonic() + RETRY_OVERRULED_SECONDS
    assert told(keeper.sync([SPEECH])) == [(ChangeKind.PUT_RIGHT, "ClusterQueue", ["spec stopPolicy"])]
    assert keeper.sync([SPEECH]) == SyncReport(), "the webhook is gone"


def test_what_is_filled_into_lists_is_left_too(server: Defaulting) -> None:
    server.insists = {
        ("LimitRange", workspace_namespace(7), "modest"): {"spec": {"limits": [{"type": "Container"}]}}
    }
    keeper = keeper_of(server)
    keeper.sync([SPEECH])
    keeper.sync([SPEECH])
    server.writes.clear()
    keeper.sync([SPEECH])
    assert not server.writes


def test_a_new_scheduler_learns_it_with_one_write_and_no_word_in_the_access_log(server: Defaulting) -> None:
    server.defaults = {DENY: {"spec": {"order": 100}}}
    for _ in range(2):
        keeper_of(server).sync([SPEECH])
    server.writes.clear()
    kept = keeper_of(server).sync([SPEECH])
    assert [change.kind for change in kept.changes] == [ChangeKind.LEFT]
    assert server.writes == [("change", "NetworkPolicy"), ("apply", "NetworkPolicy")]
