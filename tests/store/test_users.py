"""Users come by one-time secrets, keep to the rules, and leave without a way back in."""

import pytest

from cluster.domain.states import UserRole, UserState
from cluster.services import sessions, users
from cluster.services.context import Cluster
from tests.conftest import RecordingBell
from tests.entries import actions

PASSWORD, OTHER = "correct horse battery", "staple of another kind"


pytestmark = pytest.mark.usefixtures("quick_hashes")


def test_the_first_administrator_comes_by_the_secret(cluster: Cluster, bell: RecordingBell) -> None:
    assert users.needs_first_administrator(cluster)
    secret = users.issue_first_administrator_secret(cluster)
    assert secret is not None and len(secret) == 19
    user = users.create_first_administrator(cluster, secret.lower(), "minji", PASSWORD, "192.0.2.1")
    assert (user.name, user.role, user.state) == ("minji", UserRole.ADMINISTRATOR, UserState.ACTIVE)
    assert sessions.sign_in(cluster, "minji", PASSWORD, "192.0.2.1", "Firefox")
    assert not users.needs_first_administrator(cluster)
    assert users.issue_first_administrator_secret(cluster) is None
    assert ("users", user.id) in bell.rung
    assert "user.first_administrator_created" in actions(cluster)
