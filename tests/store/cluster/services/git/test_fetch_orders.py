"""What a task gets to fetch, with a secret that shows nowhere else."""

from dataclasses import replace

import pytest

from cluster.domain.errors import Refused, Unavailable
from cluster.domain.states import GitCredential, TrainingKind
from cluster.services.context import Cluster
from cluster.services.git import git_sources
from cluster.services.git.fetch_orders import read_fetch_order, require_room_for_files
from cluster.services.git.git_sources import GitSourceChoice
from cluster.store.workspaces import Workspace
from tests.builders import a_training, a_user, a_workspace, actor_of

TOKEN = "glpat-4567890123456789"


def test_an_order_shows_no_secret_and_opens_with_its_installation_s_alone(cluster: Cluster) -> None:
    owner = a_user(cluster)
    training = a_training(cluster, a_workspace(cluster, owner), owner, kind=TrainingKind.ADVANCED)
    choice = GitSourceChoice(
        "https://git.lab.example/net.git", credential=GitCredential.TOKEN, token=TOKEN, user_name="bot"
    )
    git_sources.set_source(cluster, actor_of(owner), training.id, choice)
    operation = git_sources.request_fetch(cluster, actor_of(owner), training.id)
    order = read_fetch_order(cluster, operation)
    assert (order.secret, order.user_name) == (TOKEN, "bot") and TOKEN not in repr(order)
    other = replace(cluster, settings=replace(cluster.settings, credential_key="another"))
    with pytest.raises(Unavailable) as unreadable:
        read_fetch_order(other, operation)
    assert unreadable.value.code == "git.credential_unreadable"


def test_a_full_workspace_takes_no_code(cluster: Cluster) -> None:
    owner = a_user(cluster)
    training = a_training(cluster, a_workspace(cluster, owner), owner, kind=TrainingKind.ADVANCED)
    choice = GitSourceChoice("https://git.lab.example/net.git")
    git_sources.set_source(cluster, actor_of(owner), training.id, choice)
    operation = git_sources.request_fetch(cluster, actor_of(owner), training.id)
    with cluster.store.write() as session:
        session.get_one(Workspace, training.workspace_id).storage_limit_bytes = 1024**2
    order = read_fetch_order(cluster, operation)
    require_room_for_files(order, {"a.py": b"1"})
    with pytest.raises(Refused) as refused:
        require_room_for_files(order, {"a.py": bytes(2 * 1024**2)})
    assert refused.value.code == "storage.no_room"
