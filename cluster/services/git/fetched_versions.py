"""Finds the versions of code that came from git, by their commits."""

from sqlalchemy import select
from sqlalchemy.orm import joinedload

from cluster.domain.git.git_sources import is_same_origin
from cluster.domain.states import CodeState
from cluster.services.context import Cluster
from cluster.services.git.fetch_orders import FetchOrder
from cluster.store.trainings import CodeVersion


def find_fetched_version(cluster: Cluster, order: FetchOrder, commit_id: str) -> int | None:
    """The newest ready version with this commit from the same address and folder."""
    query = (
        select(CodeVersion.number, CodeVersion.origin)
        .where(
            CodeVersion.training_id == order.training.id,
            CodeVersion.state == CodeState.READY,
            CodeVersion.commit_id == commit_id,
        )
        .order_by(CodeVersion.number.desc())
    )
    with cluster.store.read() as session:
        rows = session.execute(query).all()
    return next((number for number, origin in rows if is_same_origin(origin, order.url, order.folder)), None)


def read_version_commit(cluster: Cluster, training_id: int, number: int) -> CodeVersion | None:
    """The version of a training if it came from git: its commit stands on every job that runs it."""
    query = (
        select(CodeVersion)
        .where(
            CodeVersion.training_id == training_id,
            CodeVersion.number == number,
            CodeVersion.commit_id.is_not(None),
        )
        .options(joinedload(CodeVersion.creator))
    )
    with cluster.store.read() as session:
        return session.scalar(query)
