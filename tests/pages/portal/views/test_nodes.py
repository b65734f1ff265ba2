"""Nodes are listed by pages and drawn as a map. A node is drained with its consequences shown before; whoever finds it
closed reads why."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import update

from cluster.domain.nodes.confinement import GAP_CODES
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import UnitKind, UnitState
from cluster.services.leases import acquire_lease
from cluster.services.nodes.confinement import record_confinement_features
from cluster.services.nodes.executor_outage import record_executor_outage
from cluster.store.nodes import Node
from cluster.store.repairs import RepairRun
from portal.presenters.nodes.node_list import PROBLEMS_DRAWN
from tests.builders import a_node
from tests.pages.portal.filled_portal import House
from tests.pages.portal.pages_lab import Lab


def test_before_a_drain_the_page_says_who_is_affected(house: House) -> None:
    page = house.visitor("administrator").get("/nodes/1/drain").text
    assert "Who is affected" in page and "Nothing has been done yet." in page


def test_a_drain_without_a_reason_is_refused_and_changes_nothing(house: House) -> None:
    chief = house.visitor("administrator")
    answer = chief.post("/nodes/1/drain", data={"reason": " "})
    assert answer.status_code == 422 and "Say why" in answer.text
    assert "Draining" not in chief.get("/nodes/1").text.split("<main")[1].split("filters")[0]


def test_the_page_shows_what_a_gpu_does_while_its_node_answers(lab: Lab) -> None:
    node = a_node(lab.cluster, 2, kind=UnitKind.GPU)
    load = {
        node.units[0].identity: {
            "percent": 87,
            "memory_used_bytes": 2**30,
            "temperature": 64.4,
            "power": None,
        }
    }
    with lab.cluster.store.write() as session:
        session.get_one(Node, node.id).facts = {"gpu_load": load}
    browser = lab.browser(lab.minjun)
    page = browser.get(f"/nodes/{node.id}").text
    assert '>87 %<span class="second">1.0 GiB · 64 °C</span>' in page
    with lab.cluster.store.write() as session:
        session.get_one(Node, node.id).heartbeat_at = lab.cluster.clock() - timedelta(minutes=2)
    assert "87 %" not in browser.get(f"/nodes/{node.id}").text
    assert "87 %" not in browser.get(f"/nodes/{lab.node.id}").text


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


@pytest.mark.parametrize(("language", "told"), [("en", "failed"), ("ko", "실패")])
def test_a_node_says_what_the_newest_check_of_its_gpus_said(house: House, language: str, told: str) -> None:
    cluster, chief = house.cluster, house.visitor("administrator")
    assert "gpu-checks" not in chief.get("/nodes/1").text
    with cluster.store.write() as session:
        name = session.get_one(Node, 1).name
        run = RepairRun(
            name="verify-gpus", target="node-1", host=name, digest="", reason="Nightly", requested_by=1,
            requested_at=cluster.clock(), ended_at=cluster.clock(), verdict=RepairVerdict.NOT_VERIFIED,
            tasks=[{"name": "Assert", "hosts": {}, "output": {name: "nvidia-smi shows 1\n    dmesg | grep -i nvrm"}}],
        )  # fmt: skip
        session.add(run)
    page = chief.get("/nodes/1", headers={"Accept-Language": language}).text
    checks = page.split('id="gpu-checks"')[1].split("</ul>")[0]
    assert told in checks and "nvidia-smi shows 1" in checks and "dmesg | grep -i nvrm" in checks
    assert f"/repairs/runs/{run.id}" in page
    assert f"{name}" in chief.get("/", headers={"Accept-Language": language}).text
    assert "gpu-checks" not in house.visitor("member").get("/nodes/1").text


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


@pytest.fixture
def many_nodes(lab: Lab) -> list[Node]:
    """With that of the lab 121, of which five are silent."""
    nodes = [a_node(lab.cluster, 2, name=f"gpu{number:03}") for number in range(120)]
    with lab.cluster.store.write() as session:
        for node in nodes[40:45]:
            session.get_one(Node, node.id).heartbeat_at = lab.cluster.clock() - timedelta(minutes=1)
    return nodes


def listed_names(page: str) -> list[str]:
    return re.findall(r'<b><span class="name">(\S+)</span></b>', page)


def test_many_nodes_are_listed_by_pages_that_link_to_each_other(lab: Lab, many_nodes: list[Node]) -> None:
    browser, href, names, pages = lab.browser(lab.minjun), "/nodes", list[str](), 0
    while href:
        page = browser.get(href).text
        assert "121 nodes · 116 ready · 5 unreachable" in page
        names += listed_names(page)
        pages += 1
        next_link = re.search(r'href="([^"]+)">Next nodes<', page)
        href = next_link[1].replace("&amp;", "&") if next_link else ""
        assert (pages > 1) == ("First page" in page)
    assert pages == 3 and names[:5] == [node.name for node in many_nodes[40:45]]
    assert sorted(names) == sorted([lab.node.name, *(node.name for node in many_nodes)])


def test_a_page_draws_the_problems_of_its_first_nodes(lab: Lab, many_nodes: list[Node]) -> None:
    with lab.cluster.store.write() as session:
        session.execute(update(Node).values(lost_at=lab.cluster.clock()))
    page = lab.browser(lab.minjun).get("/nodes").text
    assert page.count("being taken away") <= page.count('class="detail"') == PROBLEMS_DRAWN


@pytest.mark.parametrize(
    ("query", "found", "told"),
    [
        ("name=GPU11", 10, "10 nodes · with “GPU11” in the name"),
        ("name=gpu04&state=ready", 5, "10 nodes"),
        ("state=unreachable", 5, "121 nodes"),
        ("state=lost", 0, "No node is like that"),
        ("name=%25", 0, "No node is like that"),
    ],
)
@pytest.mark.parametrize("view", ["list", "map"])
def test_nodes_are_narrowed_by_name_and_state(
    lab: Lab, many_nodes: list[Node], view: str, query: str, found: int, told: str
) -> None:
    page = lab.browser(lab.minjun).get(f"/nodes?{query}&view={view}").text
    shown = listed_names(page) if view == "list" else re.findall(r'title="(gpu\d+) · 0 / 2 in use', page)
    assert len(shown) == found and told in page


@pytest.mark.parametrize("query", ["state=tired", "view=picture", "after=x"])
def test_what_no_page_of_nodes_has_is_refused(lab: Lab, query: str) -> None:
    assert lab.browser(lab.minjun).get(f"/nodes?{query}").status_code == 422


def test_the_map_says_what_is_free_on_each_node(lab: Lab) -> None:
    lab.a_running_job(units=1)
    drained = a_node(lab.cluster, 2, name="gpu77")
    broken = a_node(lab.cluster, 2, name="gpu88")
    with lab.cluster.store.write() as session:
        session.get_one(Node, drained.id).draining_since = lab.cluster.clock()
        session.get_one(Node, broken.id).units[0].state = UnitState.BROKEN
    page = lab.browser(lab.minjun).get("/nodes?view=map", headers={"HX-Request": "true"}).text
    cells = dict(re.findall(r'href="/nodes/(\d+)" tabindex="-1" title="([^"]+)"', page))
    units = len(lab.node.units)
    assert cells == {
        str(lab.node.id): f"{lab.node.name} · 1 / {units} in use",
        str(drained.id): "gpu77 · 0 / 2 in use · Draining",
        str(broken.id): "gpu88 · 0 / 2 in use · 1 broken",
    }
    looks = set(re.findall(r'class="cell (\w+) u(\d)" href[^>]+>(\d*)<', page))
    assert looks == {("closed", "0", ""), ("broken", "0", "1"), ("free", "4", "1")} and units == 2


def test_a_removed_node_is_forgotten_once_it_is_drained(house: House) -> None:
    chief = house.visitor("administrator")
    node = a_node(house.cluster, name="gpu-removed")
    path = f"/nodes/{node.id}"
    refused = chief.post(f"{path}/forget")
    assert refused.status_code == 409 and "Drain it first, or stop its agent." in refused.text
    chief.post(f"{path}/drain", data={"reason": "sold"})
    assert (
        f"{path}/forget" in chief.get(path).text
        and f"{path}/forget" not in house.visitor("member").get(path).text
    )
    assert "its alerts" in chief.get(f"{path}/forget").text
    assert "알림" in chief.get(f"{path}/forget", headers={"Accept-Language": "ko"}).text
    assert chief.post(f"{path}/forget").status_code == 303
    assert chief.get(path).status_code == 404
    assert "gpu-removed" not in chief.get("/nodes").text
    assert path not in chief.get("/search?q=gpu-removed").text
