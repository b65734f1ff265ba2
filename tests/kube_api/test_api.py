"""The one door to Kubernetes: what it does with answers, refusals and silence."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.api_server import NOBODY, SCHEDULER, ApiServer
from tests.kubernetes.events import watch
from worker.kubernetes.api_client import REST_SECONDS, ApiConflict, ApiRefused, ApiUnreachable, KubernetesApi
from worker.kubernetes.object_kinds import object_head


@pytest.fixture
def api(server: ApiServer) -> KubernetesApi:
    return server.api


@pytest.fixture
def stranger(server: ApiServer) -> Iterator[KubernetesApi]:
    """One who may do nothing."""
    api = KubernetesApi(server.kubeconfig(NOBODY))
    yield api
    api.close()


def note(name: str, namespace: str, **data: str) -> dict[str, object]:
    return object_head("ConfigMap", name, namespace, {"test": "yes"}) | {"data": data}


def test_a_second_one_of_a_name_is_a_conflict(api: KubernetesApi, namespace: str) -> None:
    api.create(note("one", namespace))
    with pytest.raises(ApiConflict) as conflict:
        api.create(note("one", namespace, other="content"))
    assert conflict.value.reason == "AlreadyExists"


def test_what_is_applied_is_so_whoever_had_changed_it(api: KubernetesApi, namespace: str) -> None:
    api.apply(note("one", namespace, ours="1"))
    api.patch("ConfigMap", "one", namespace, {"data": {"ours": "theirs", "added": "by hand"}})
    found = api.apply(note("one", namespace, ours="1"))
    assert found["data"] == {"ours": "1", "added": "by hand"}


def test_all_of_a_label_are_listed_as_what_they_are(api: KubernetesApi, namespace: str) -> None:
    for name in ("one", "two"):
        api.create(note(name, namespace))
    listed = api.list_all("ConfigMap", "test=yes", namespace)
    assert {(each["kind"], each["metadata"]["name"]) for each in listed.things} == {
        ("ConfigMap", "one"),
        ("ConfigMap", "two"),
    }
    assert api.list_all("ConfigMap", "test=no", namespace).things == []


def test_what_is_not_there_is_none_and_need_not_be_deleted(api: KubernetesApi, namespace: str) -> None:
    assert api.get("ConfigMap", "none", namespace) is None
    assert api.patch("ConfigMap", "none", namespace, {"data": {}}) is None
    assert not api.delete("ConfigMap", "none", namespace)


def test_only_the_very_one_that_was_meant_is_deleted(api: KubernetesApi, namespace: str) -> None:
    first = api.create(note("one", namespace))["metadata"]["uid"]
    assert api.delete("ConfigMap", "one", namespace, uid=first)
    api.create(note("one", namespace))
    with pytest.raises(ApiConflict):
        api.delete("ConfigMap", "one", namespace, uid=first)
    assert api.get("ConfigMap", "one", namespace)


def test_a_watch_tells_what_happens_from_where_a_list_ended(api: KubernetesApi, namespace: str) -> None:
    api.create(note("before", namespace))
    since = api.list_all("ConfigMap", "test=yes", namespace).version
    api.create(note("after", namespace))
    api.delete("ConfigMap", "before", namespace)
    told = [
        (what, it["metadata"]["name"])
        for what, it in watch(api, "ConfigMap", since, 1, "test=yes", namespace)
    ]
    assert told == [("ADDED", "after"), ("DELETED", "before")]


def test_a_refusal_comes_in_the_server_s_own_words(
    api: KubernetesApi, stranger: KubernetesApi, namespace: str
) -> None:
    with pytest.raises(ApiRefused) as refused:
        api.create(note("Not A Name", namespace))
    assert (refused.value.status, refused.value.reason) == (422, "Invalid")
    assert "Not A Name" in refused.value.message
    with pytest.raises(ApiRefused) as refused:
        stranger.list_all("Pod")
    assert (refused.value.status, refused.value.reason) == (403, "Forbidden")


def test_a_server_that_is_away_is_silent_and_answers_again(server: ApiServer, namespace: str) -> None:
    server.stop()
    with pytest.raises(ApiUnreachable):
        server.api.get("ConfigMap", "one", namespace)
    server.start()
    assert server.api.get("ConfigMap", "one", namespace) is None


def test_a_user_whom_it_does_not_know_gets_silence_and_no_conclusion(server: ApiServer) -> None:
    """A token that has run out says nothing about what runs; a new file is read when it is there."""
    api = KubernetesApi(server.kubeconfig("unknown"))
    with pytest.raises(ApiUnreachable):
        api.list_all("Pod")
    api.kubeconfig.write_text(server.kubeconfig(NOBODY).read_text())
    with pytest.raises(ApiRefused):
        api.list_all("Pod")
    api.close()


def test_no_connection_file_is_silence_too(tmp_path: Path) -> None:
    with pytest.raises(ApiUnreachable) as silence:
        KubernetesApi(tmp_path / "none.conf").list_all("Pod")
    assert silence.value.data == {"kubeconfig": str(tmp_path / "none.conf")}


def test_after_an_answer_that_did_not_come_nobody_is_asked_for_a_while(server: ApiServer) -> None:
    """A server that takes connections and says nothing: the scheduler waits for it once, not once per attempt."""
    with server.standing_still():
        api = KubernetesApi(server.kubeconfig(SCHEDULER), ask_seconds=0.3)
        began = time.monotonic()
        for _ in range(20):
            with pytest.raises(ApiUnreachable):
                api.list_all("Pod")
        assert time.monotonic() - began < REST_SECONDS
        api.close()
