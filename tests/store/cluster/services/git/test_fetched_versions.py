"""A commit that was fetched from the same address and folder is nothing new, whatever the branch was called."""

from dataclasses import replace

from cluster.domain.states import TrainingKind
from cluster.services.context import Cluster
from cluster.services.git import git_sources
from cluster.services.git.fetch_orders import read_fetch_order
from cluster.services.git.fetched_versions import find_fetched_version, read_version_commit
from cluster.services.git.git_sources import GitSourceChoice
from cluster.store.trainings import CodeVersion
from tests.builders import a_code_version, a_training, a_user, a_workspace, actor_of

URL = "https://git.lab.example/net.git"


def test_the_newest_version_with_the_commit_is_found(cluster: Cluster) -> None:
    owner = a_user(cluster)
    training = a_training(cluster, a_workspace(cluster, owner), owner, kind=TrainingKind.ADVANCED)
    git_sources.set_source(cluster, actor_of(owner), training.id, GitSourceChoice(URL, "main", "src"))
    operation = git_sources.request_fetch(cluster, actor_of(owner), training.id)
    order = read_fetch_order(cluster, operation)
    assert find_fetched_version(cluster, order, "c" * 40) is None
    for number, origin in enumerate((f"{URL}#old:src", f"{URL}#v1:src", f"{URL}#main:other"), 1):
        a_code_version(cluster, training, [("a.py", b"1")], number)
        with cluster.store.write() as session:
            version = session.get_one(CodeVersion, (training.id, number))
            version.commit_id, version.origin = "c" * 40, origin
    assert find_fetched_version(cluster, order, "c" * 40) == 2
    assert find_fetched_version(cluster, replace(order, url="https://other.example/n"), "c" * 40) is None
    assert find_fetched_version(cluster, order, "d" * 40) is None
    found = read_version_commit(cluster, training.id, 2)
    assert found is not None and found.creator.id == owner.id
    assert read_version_commit(cluster, training.id, 9) is None
