"""A repair works on the chosen nodes, each held by one repair at a time, drained if it needs that."""

from dataclasses import replace

import pytest

from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.context import Cluster
from cluster.services.nodes import drains
from cluster.services.operations import lifecycle
from cluster.services.repairs import previews
from cluster.services.repairs import repair_runs as repairs
from cluster.services.repairs.repair_runs import record_run_end
from cluster.store.repairs import RepairRun
from tests.builders import a_node, actor_of, an_administrator


@pytest.fixture
def servers(cluster: Cluster) -> Cluster:
    for name in ("gpu01", "gpu02", "gpu03"):
        a_node(cluster, 2, name=name)
    return replace(cluster, settings=replace(cluster.settings, launcher="systemd", master_node="gpu01"))


@pytest.fixture
def chief(servers: Cluster) -> Actor:
    return actor_of(an_administrator(servers))


def node_ids(servers: Cluster, chief: Actor) -> dict[str, int]:
    seen = previews.preview_repair(servers, chief, "restart-worker-agent")
    return {choice.host: choice.node_id for choice in seen.choices if choice.node_id}


def ask(
    servers: Cluster, chief: Actor, name: str, *hosts: str, typed: str = "", ahead: bool = False
) -> RepairRun:
    chosen = [node_ids(servers, chief)[host] for host in hosts]
    etag = previews.preview_repair(servers, chief, name, chosen).etag
    return repairs.request_repair(
        servers, chief, name, etag, "silent", typed, node_ids=chosen, is_dry_run=ahead
    )


def test_a_run_on_two_nodes_holds_both_and_no_third(servers: Cluster, chief: Actor) -> None:
    run = ask(servers, chief, "restart-worker-agent", "gpu02", "gpu03")
    assert run.hosts == ["gpu02", "gpu03"] and run.host == "gpu02, gpu03"
    with pytest.raises(Conflict, match="repair.under_way"):
        ask(servers, chief, "restart-worker", "gpu03")
    assert ask(servers, chief, "restart-worker", "gpu01").locks == ["master"]
    operation = lifecycle.claim_operation(servers, run.operation_id or 0, "one")
    assert operation is not None
    record_run_end(servers, operation, RepairVerdict.VERIFIED, 0, [])
    assert ask(servers, chief, "restart-worker", "gpu03").hosts == ["gpu03"]


def test_the_node_that_is_the_master_is_held_with_it(servers: Cluster, chief: Actor) -> None:
    ask(servers, chief, "restart-api")
    with pytest.raises(Conflict, match="repair.under_way"):
        ask(servers, chief, "restart-worker-agent", "gpu01", "gpu02")


def test_nobody_chooses_for_a_person_where_there_are_several_nodes(servers: Cluster, chief: Actor) -> None:
    seen = previews.preview_repair(servers, chief, "restart-worker-agent")
    assert seen.targets == [] and [choice.host for choice in seen.choices] == ["gpu01", "gpu02", "gpu03"]
    with pytest.raises(Refused, match="repair.no_node"):
        ask(servers, chief, "restart-worker-agent")
    with pytest.raises(NotFound):
        previews.preview_repair(servers, chief, "restart-worker-agent", [4711])


def test_the_etag_changes_with_what_a_person_has_decided_on(servers: Cluster, chief: Actor) -> None:
    ids = node_ids(servers, chief)

    def etag(*hosts: str) -> str:
        chosen = [ids[host] for host in hosts]
        return previews.preview_repair(servers, chief, "restart-worker-agent", chosen).etag

    before = etag("gpu02")
    assert before == etag("gpu02")
    assert len({before, etag("gpu03"), etag("gpu02", "gpu03")}) == 3
    ask(servers, chief, "restart-worker", "gpu02")
    assert etag("gpu02") != before and before


def test_gpus_are_reset_on_drained_nodes_alone(servers: Cluster, chief: Actor) -> None:
    with pytest.raises(Refused, match="repair.not_drained") as refused:
        ask(servers, chief, "reset-gpu", "gpu02")
    assert refused.value.data["names"] == ["gpu02"]
    drains.drain_node(servers, chief, node_ids(servers, chief)["gpu02"], "a silent GPU")
    assert ask(servers, chief, "reset-gpu", "gpu02").hosts == ["gpu02"]


def test_a_look_ahead_needs_no_typed_name_and_a_playbook_that_can(servers: Cluster, chief: Actor) -> None:
    run = ask(servers, chief, "restart-worker-agent", "gpu02", ahead=True)
    assert run.is_dry_run
    with pytest.raises(Refused, match="repair.no_look_ahead"):
        ask(servers, chief, "reboot-node", "gpu03", ahead=True)
    with pytest.raises(Refused, match="repair.other_name"):
        ask(servers, chief, "reboot-node", "gpu03", typed="gpu02")
