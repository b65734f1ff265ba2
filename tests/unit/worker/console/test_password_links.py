"""A forgotten password is replaced by a link that the console prints, for a living administrator alone."""

import io
from collections.abc import Callable

import pytest

from cluster.domain.people.actor import Actor
from cluster.domain.states import UserState
from cluster.portal_paths import one_time_link
from cluster.services.context import Cluster
from cluster.services.people.passwords import read_password_link
from cluster.services.people.users import service_actor
from cluster.store.users import User
from tests.builders import a_user, an_administrator
from worker.console.password_links import list_active_administrators, offer_password_link

LINK = one_time_link("")


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda line: monkeypatch.setattr("sys.stdin", io.StringIO(f"{line}\n"))


@pytest.fixture
def console(light_cluster: Cluster) -> Actor:
    return service_actor(light_cluster)


def disabled(cluster: Cluster, user: User) -> None:
    with cluster.store.write() as session:
        session.get_one(User, user.id).state = UserState.DISABLED


def test_only_living_administrators_are_offered(light_cluster: Cluster, console: Actor) -> None:
    minji, jieun = (an_administrator(light_cluster, name) for name in ("minji", "jieun"))
    a_user(light_cluster)
    disabled(light_cluster, jieun)
    assert [user.id for user in list_active_administrators(light_cluster, console)] == [minji.id]


def test_the_chosen_one_gets_a_link_that_works(
    light_cluster: Cluster,
    console: Actor,
    types: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("jieun", "minji"):
        an_administrator(light_cluster, name)
    names = [user.name for user in list_active_administrators(light_cluster, console)]
    types("2")
    offer_password_link(light_cluster, console)
    printed = capsys.readouterr().out
    secret = printed.partition(LINK)[2].split()[0]
    assert read_password_link(light_cluster, secret).name == names[1]
    assert light_cluster.settings.public_url + LINK in printed


@pytest.mark.parametrize("typed", ["", "3", "0", "minji"])
def test_who_chooses_nobody_gets_no_link(
    light_cluster: Cluster,
    console: Actor,
    types: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
    typed: str,
) -> None:
    an_administrator(light_cluster, "minji")
    types(typed)
    offer_password_link(light_cluster, console)
    assert LINK not in capsys.readouterr().out


def test_without_an_administrator_the_first_ones_secret_is_shown(
    light_cluster: Cluster, console: Actor, capsys: pytest.CaptureFixture[str]
) -> None:
    offer_password_link(light_cluster, console)
    printed = capsys.readouterr().out
    assert "There is no administrator yet." in printed and "/first-administrator" in printed
