"""A node is drained with its consequences shown before; whoever finds it closed reads why."""

from datetime import timedelta

import pytest

from cluster.domain.nodes.confinement import GAP_CODES
from cluster.services.leases import acquire_lease
from cluster.services.nodes.confinement import record_confinement_features
from cluster.services.nodes.executor_outage import record_executor_outage
from cluster.store.nodes import Node
from tests.pages.portal.filled_portal import House


def test_before_a_drain_the_page_says_who_is_affected(house: House) -> None:
    page = house.visitor("administrator").get("/nodes/1/drain").text
    assert "Who is affected" in page and "Nothing has been done yet." in page


def test_a_drain_without_a_reason_is_refused_and_changes_nothing(house: House) -> None:
    chief = house.visitor("administrator")
    answer = chief.post("/nodes/1/drain", data={"reason": " "})
    assert answer.status_code == 422 and "Say why" in answer.text
    assert "Draining" not in chief.get("/nodes/1").text.split("<main")[1].split("filters")[0]


@pytest.mark.parametrize(("language", "told"), [("en", "new memory"), ("ko", "비우는 중")])
def test_a_drained_node_tells_why_and_is_opened_again(house: House, language: str, told: str) -> None:
    chief = house.visitor("administrator")
    answer = chief.post("/nodes/1/drain", data={"reason": "new memory"})
    assert answer.status_code == 303
    for path in ("/nodes", "/nodes/1"):
        page = chief.get(path, headers={"Accept-Language": language}).text
        assert "new memory" in page
        assert told in page
    seen = house.visitor("member").get("/nodes/1").text
    assert "new memory" in seen and "/nodes/1/undrain" not in seen
    assert chief.post("/nodes/1/undrain").status_code == 303
    assert chief.post("/nodes/1/undrain").status_code == 303
    assert "new memory" not in chief.get("/nodes/1").text


@pytest.mark.parametrize(("language", "told"), [("en", "does not answer"), ("ko", "응답하지 않습니다")])
def test_an_engine_that_does_not_answer_needs_an_administrator(
    house: House, language: str, told: str
) -> None:
    cluster = house.cluster
    held = acquire_lease(cluster, "scheduler", "one", timedelta(seconds=10))
    assert held and record_executor_outage(cluster, held, "engine.silent", {"socket": "/run/docker.sock"})
    for path in ("/", "/nodes"):
        page = house.visitor("administrator").get(path, headers={"Accept-Language": language}).text
        assert "/run/docker.sock" in page and told in page
        assert "/run/docker.sock" not in house.visitor("member").get(path).text
    assert record_executor_outage(cluster, held, None, {})
    assert "/run/docker.sock" not in house.visitor("administrator").get("/nodes").text


@pytest.mark.parametrize(
    ("language", "told", "whole"),
    [
        ("en", "command lines of all processes", "Everything is enforced"),
        ("ko", "모든 프로세스의 명령줄", "모두 적용되어 있습니다"),
    ],
)
def test_a_node_says_what_does_not_confine_its_jobs(
    house: House, language: str, told: str, whole: str
) -> None:
    cluster, speaks = house.cluster, {"Accept-Language": language}
    with cluster.store.read() as session:
        name = session.get_one(Node, 1).name
    member = house.visitor("member")
    assert 'id="confinement"' not in member.get("/nodes/1").text
    assert member.get("/api/v1/nodes/1").json["confinement"] is None
    held = acquire_lease(cluster, "scheduler", "one", timedelta(seconds=10))
    powers = dict.fromkeys(GAP_CODES, True) | {"root": True, "stop": "cgroup-v1"}
    assert held and record_confinement_features(cluster, held, name, powers)
    assert not record_confinement_features(cluster, held, name, powers)
    assert whole in member.get("/nodes/1", headers=speaks).text
    weaker = powers | {"processes_hidden": False, "refused": {"processes_hidden": "Invalid argument"}}
    assert record_confinement_features(cluster, held, name, weaker)
    page = member.get("/nodes/1", headers=speaks).text
    assert told in page and "Invalid argument" in page and "Linux 5.8" in page and whole not in page
    (weakness,) = member.get("/api/v1/nodes/1", headers=speaks).json["confinement"]["weaknesses"]
    assert weakness["code"] == "confinement.no_processes_hidden" and told in weakness["sentence"]
    assert record_confinement_features(cluster, held, name, None)
    assert 'id="confinement"' not in member.get("/nodes/1").text
