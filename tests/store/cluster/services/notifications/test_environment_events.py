"""The manager of a workspace is told of a request for an environment, if that was chosen."""

import pytest
from sqlalchemy import select

from cluster import words
from cluster.services.context import Cluster
from cluster.services.notifications.environment_events import write_environment_event
from cluster.store.alerts import NotificationChoice, NotificationEvent
from cluster.store.environments import Environment
from cluster.store.workspaces import Workspace
from tests.builders import a_user, a_workspace, add, an_environment


@pytest.mark.parametrize(
    ("kinds", "told"), [(["environment_asked"], 1), (["job_failed", "notebook_idle"], 0), ([], 0)]
)
def test_a_request_is_told_to_who_chose_it(cluster: Cluster, kinds: list[str], told: int) -> None:
    manager = a_user(cluster)
    workspace = a_workspace(cluster, manager, name="vision")
    asked = an_environment(cluster, "kept", requirements="humanize==4.17.0\nPyYAML==6.0.2\n")
    add(cluster, NotificationChoice(user_id=manager.id, kinds=kinds, wait_hours=4))
    with cluster.store.write() as session:
        rows = session.get_one(Environment, asked.id), session.get_one(Workspace, workspace.id)
        write_environment_event(session, *rows, "minji", cluster.clock())
    with cluster.store.read() as session:
        events = session.scalars(select(NotificationEvent)).all()
    assert [event.user_id for event in events] == [manager.id] * told
    for event in events:
        assert event.data["path"] == f"/environments/{asked.id}"
        said = [words.sentence(event.data["code"], event.data["data"], language) for language in ("en", "ko")]
        assert said == [
            "minji asks for the environment kept in vision, with 2 packages",
            "vision: minji님이 패키지 2개를 담은 환경을 요청했습니다(kept)",
        ]
