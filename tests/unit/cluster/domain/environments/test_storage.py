"""The files of an environment count to one workspace, or to none if every workspace may choose it."""

from collections.abc import Mapping

import pytest

from cluster.domain.environments.storage import choose_paying_workspace

KIM, LEE, ADMIN = 7, 8, 1


@pytest.mark.parametrize(
    ("managers", "created_by", "workspace"),
    [
        ({}, KIM, None),
        ({}, None, None),
        ({3: KIM}, KIM, 3),
        ({2: LEE, 3: KIM}, KIM, 3),
        ({5: KIM, 3: KIM, 2: LEE}, KIM, 3),
        ({5: KIM, 3: LEE}, ADMIN, 3),
        ({5: KIM, 3: LEE}, None, 3),
    ],
)
def test_the_workspace_of_the_manager_who_asked_pays(
    managers: Mapping[int, int], created_by: int | None, workspace: int | None
) -> None:
    assert choose_paying_workspace(managers, created_by) == workspace
