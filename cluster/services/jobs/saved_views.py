"""Views of the list of jobs that a person keeps under a name."""

from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from sqlalchemy import Select, delete, func, select

from cluster.domain.errors import NotFound, Refused
from cluster.domain.jobs.annotations import MAX_VIEWS, check_view_name
from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.store.jobs import SavedView
from cluster.store.sql.reader_statement import ReaderStatement

PARAMETERS = ("q", "state", "workspace", "training", "user", "sweep", "tag", "metric", "order")
"""The parts of an address that a saved view keeps. It does not keep the place in the list."""
LONGEST_QUERY = 500


class ViewLink(NamedTuple):
    id: int
    name: str
    query: str


def list_views(cluster: Cluster, actor: Actor) -> list[ViewLink]:
    """The person's own views, sorted by name."""
    with cluster.store.read_columns() as connection:
        return [ViewLink(*row) for row in VIEWS.execute(connection, actor)]


def select_views(reader: Actor) -> Select[int, str, str]:
    query = select(SavedView.id, SavedView.name, SavedView.query).where(SavedView.user_id == reader.user_id)
    return query.order_by(SavedView.name, SavedView.id)


VIEWS = ReaderStatement(select_views)


def save_view(cluster: Cluster, actor: Actor, name: str, query: str) -> ViewLink:
    """Saves the view, and replaces one of the same name. Raises Refused."""
    name, kept = check_view_name(name), keep_parameters(query)
    with cluster.store.write(lock=f"views {actor.user_id}") as session:
        view = session.scalar(
            select(SavedView).where(SavedView.user_id == actor.user_id, SavedView.name == name)
        )
        if view is None:
            count = session.scalar(
                select(func.count()).select_from(SavedView).where(SavedView.user_id == actor.user_id)
            )
            if (count or 0) >= MAX_VIEWS:
                raise Refused("name", "view.too_many", most=MAX_VIEWS)
            view = SavedView(user_id=actor.user_id, name=name, query=kept, created_at=cluster.clock())
            session.add(view)
        view.query = kept
        session.flush()
        return ViewLink(view.id, view.name, view.query)


def delete_view(cluster: Cluster, actor: Actor, view_id: int) -> None:
    """Raises NotFound for one that is not the person's own."""
    with cluster.store.write() as session:
        found = session.execute(
            delete(SavedView)
            .where(SavedView.id == view_id, SavedView.user_id == actor.user_id)
            .returning(SavedView.id)
        )
        if found.first() is None:
            raise NotFound("view", view_id)


def keep_parameters(query: str) -> str:
    """Raises Refused for one that is too long."""
    kept = urlencode([(name, value) for name, value in parse_qsl(query) if name in PARAMETERS])
    if len(kept) > LONGEST_QUERY:
        raise Refused("name", "view.too_long", most=LONGEST_QUERY)
    return kept
