"""A search finds what begins so, on both databases, and nothing that the reader may not see."""

import pytest

from cluster.domain.people.actor import Actor
from cluster.domain.search import parse_search_query
from cluster.domain.states import Visibility
from cluster.services.context import Cluster
from cluster.services.search import MOST_OF_A_KIND, SearchHit, search
from tests.builders import (
    a_dataset,
    a_job,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    an_administrator,
)


def names(cluster: Cluster, actor: Actor, typed: str) -> list[str]:
    return [hit.name for hit in search(cluster, actor, parse_search_query(typed)).all_hits]


@pytest.fixture
def people(cluster: Cluster) -> dict[str, Actor]:
    """`seoyeon` and `minjun` share a workspace, in which a training of hers is private; the stranger has another."""
    seoyeon = a_user(cluster, "seoyeon", full_name="김서연 Seoyeon Kim")
    minjun, stranger = a_user(cluster, "minjun"), a_user(cluster, "stranger")
    chief = an_administrator(cluster, "chief")
    ours = a_workspace(
        cluster, manager=a_user(cluster, "manager"), members=(seoyeon, minjun), name="vision-lab"
    )
    theirs = a_workspace(cluster, manager=stranger, name="virtual")
    secret = a_training(cluster, ours, seoyeon, name="vit-secret", visibility=Visibility.PRIVATE)
    a_job(cluster, secret, seoyeon, name="vit-1")
    a_job(cluster, a_training(cluster, ours, seoyeon, name="vit-open"), seoyeon, name="vit_2")
    a_job(cluster, a_training(cluster, theirs, stranger, name="vit-theirs"), stranger, name="vit-3")
    a_dataset(cluster, ours, name="views")
    a_node(cluster, name="vi-node")
    return {
        "seoyeon": actor_of(seoyeon),
        "minjun": actor_of(minjun),
        "stranger": actor_of(stranger),
        "chief": actor_of(chief),
    }


@pytest.mark.parametrize(
    ("reader", "found"),
    [
        ("seoyeon", ["vit_2", "vit-1", "vit-open", "vit-secret", "views", "vision-lab", "vi-node"]),
        ("minjun", ["vit_2", "vit-open", "views", "vision-lab", "vi-node"]),
        ("stranger", ["vit-3", "vit-theirs", "virtual", "vi-node"]),
        (
            "chief",
            [
                *("vit-3", "vit_2", "vit-1", "vit-open", "vit-secret", "vit-theirs"),
                *("views", "virtual", "vision-lab", "vi-node"),
            ],
        ),
    ],
)
def test_a_reader_finds_what_the_reader_may_see(
    cluster: Cluster, people: dict[str, Actor], reader: str, found: list[str]
) -> None:
    assert names(cluster, people[reader], "Vi") == found


@pytest.mark.parametrize(
    ("reader", "typed", "found"),
    [
        ("seoyeon", "min", ["minjun"]),
        ("seoyeon", "서연", ["seoyeon"]),
        ("seoyeon", "stran", []),
        ("chief", "stran", ["stranger"]),
        ("chief", "seoyeon kim", ["seoyeon"]),
        ("chief", "%", []),
        ("chief", "_", []),
    ],
)
def test_people_are_found_among_those_of_the_readers_workspaces(
    cluster: Cluster, people: dict[str, Actor], reader: str, typed: str, found: list[str]
) -> None:
    assert names(cluster, people[reader], typed) == found


def test_an_underscore_stands_for_itself(cluster: Cluster, people: dict[str, Actor]) -> None:
    assert names(cluster, people["chief"], "vit_") == ["vit_2"]


def test_the_job_with_the_number_is_the_first_one_and_is_as_secret_as_others(
    cluster: Cluster, people: dict[str, Actor]
) -> None:
    query = parse_search_query("vit-1")
    secret = search(cluster, people["chief"], query).jobs[0]
    by_number = search(cluster, people["seoyeon"], parse_search_query(f"job-{secret.id}"))
    assert by_number.jobs == (SearchHit(secret.id, "vit-1", "vision-lab", secret.job_state),)
    assert search(cluster, people["minjun"], parse_search_query(str(secret.id))).jobs == ()


def test_five_of_a_kind_are_found_the_newest_of_one_name_first(
    cluster: Cluster, people: dict[str, Actor]
) -> None:
    training = a_training(cluster, a_workspace(cluster), name="many")
    made = [a_job(cluster, training, name="same").id for _ in range(MOST_OF_A_KIND + 2)]
    found = search(cluster, people["chief"], parse_search_query("sam")).jobs
    assert [hit.id for hit in found] == sorted(made, reverse=True)[:MOST_OF_A_KIND]


def test_nothing_typed_reads_nothing(cluster: Cluster, people: dict[str, Actor]) -> None:
    assert names(cluster, people["chief"], "  ") == []
