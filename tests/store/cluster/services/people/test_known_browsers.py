"""A browser is known by a cookie that only this installation can make."""

import pytest

from cluster.domain.states import UserState
from cluster.services.context import Cluster
from cluster.services.people import credentials, known_browsers
from cluster.store.users import User
from tests.builders import a_user
from tests.conftest import Clock


def with_password(cluster: Cluster, name: str) -> User:
    return a_user(cluster, name, password_hash=credentials.hash_password("correct horse battery"))


@pytest.mark.usefixtures("quick_hashes")
@pytest.mark.parametrize(
    "case", ["none", "noise", "another person", "another password", "too old", "changed", "disabled"]
)
def test_a_browser_is_known_by_a_cookie_that_only_the_portal_makes(
    cluster: Cluster, clock: Clock, case: str
) -> None:
    user, other = with_password(cluster, "minji"), with_password(cluster, "seoyeon")
    token = known_browsers.issue_browser_token(cluster, "minji")
    assert known_browsers.is_known_browser(cluster, user, token)
    if case == "too old":
        clock.move(days=181)
    shown = {"none": "", "noise": "1.²." + "0" * 64, "changed": "1" + token}.get(case, token)
    person = other if case == "another person" else user
    if case == "another password":
        person.password_hash = credentials.hash_password("another password")
    if case == "disabled":
        person.state = UserState.DISABLED
    assert not known_browsers.is_known_browser(cluster, person, shown)
