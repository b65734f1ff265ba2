"""What people prefer is kept, and what is no choice is refused."""

import pytest

from cluster.domain.errors import Refused
from cluster.services.context import Cluster
from cluster.services.people import preferences
from tests.builders import a_user, actor_of


def test_preferences_are_kept_and_given_back(cluster: Cluster) -> None:
    actor = actor_of(a_user(cluster))
    assert preferences.set_preferences(cluster, actor, language="ko").language == "ko"
    user = preferences.set_preferences(cluster, actor, theme="dark")
    assert (user.language, user.theme) == ("ko", "dark")
    assert preferences.set_preferences(cluster, actor, language="").language is None
    for wrong in ({"language": "fr"}, {"theme": "blue"}):
        with pytest.raises(Refused, match=r"preference\.unknown"):
            preferences.set_preferences(cluster, actor, **wrong)
