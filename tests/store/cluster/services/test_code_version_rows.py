"""Versions of code have numbers that are given out once."""

from cluster.domain.states import CodeSource, CodeState, TrainingKind
from cluster.services.code_version_rows import new_version
from cluster.services.context import Cluster
from cluster.store.trainings import CodeVersion, Training
from tests.builders import a_code_version, a_training, a_workspace, actor_of


def test_the_next_number_follows_the_last_version_also_one_that_failed(cluster: Cluster) -> None:
    workspace = a_workspace(cluster)
    training, actor = a_training(cluster, workspace, kind=TrainingKind.ADVANCED), actor_of(workspace.manager)
    a_code_version(cluster, training, [("train.py", b"1")])
    with cluster.store.write() as session:
        now = cluster.clock()
        second = new_version(
            session, actor, session.get_one(Training, training.id), CodeSource.FILES, None, now
        )
        assert (second.number, second.state) == (2, CodeState.PREPARING)
    # Nobody prepares it: whoever did is gone, and the number is not given out again.
    with cluster.store.write() as session:
        third = new_version(session, actor, session.get_one(Training, training.id), CodeSource.FILES, 1, now)
        assert third.number == 3
        lost = session.get_one(CodeVersion, (training.id, 2))
        assert (lost.state, lost.error_code) == (CodeState.FAILED, "code.superseded")
