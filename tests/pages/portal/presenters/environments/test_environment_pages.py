"""The rows of the list, and who is offered what."""

from cluster.domain.states import EnvironmentSource
from cluster.services.images.environment_list import list_environments
from portal.presenters.environments.environment_pages import (
    can_add,
    environment_page,
    environment_row,
    offered_workspaces,
)
from tests.builders import actor_of, an_environment
from tests.pages.portal.pages_lab import Lab


def test_a_row_has_its_digest_and_scope(lab: Lab) -> None:
    made = an_environment(
        lab.cluster, "torch-2.7", [lab.workspace], digest="sha256:" + "a" * 64, python="3.5.1"
    )
    with lab.app.test_request_context():
        row = environment_row(made, [lab.workspace])
    assert (row.digest, row.scope, row.is_too_old) == ("a" * 12, ("vision",), True)


def test_only_who_may_is_offered_to_add_and_change(lab: Lab) -> None:
    administrator = actor_of(lab.administrator)
    an_environment(lab.cluster, "torch-2.7", [lab.workspace])
    an_environment(lab.cluster, "image", source=EnvironmentSource.IMAGE)
    image, made = list_environments(lab.cluster, administrator)[1:]
    rights = {
        user.name: (
            can_add(lab.cluster, actor_of(user)),
            [place.name for place in offered_workspaces(lab.cluster, actor_of(user))],
            environment_page(lab.cluster, actor_of(user), made).may_change,
            environment_page(lab.cluster, actor_of(user), image).may_change,
        )
        for user in (lab.administrator, lab.manager, lab.minjun)
    }
    assert rights == {
        "hjkim": (True, ["vision"], True, False),
        "jisoo": (True, ["vision"], True, False),
        "minjun": (False, [], False, False),
    }
