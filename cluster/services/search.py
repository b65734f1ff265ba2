"""Finds jobs, trainings, datasets, workspaces, nodes and people by the beginning of their names, as far as the reader
may see them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, case, func, or_, select, union_all
from sqlalchemy.orm import Session, aliased

from cluster.domain.people.actor import Actor
from cluster.domain.search import SearchQuery
from cluster.domain.states import JobState, UserState
from cluster.services.context import Cluster
from cluster.services.search_queries import (
    Place,
    datasets_query,
    environments_query,
    nodes_query,
    trainings_query,
    workspaces_query,
)
from cluster.store.jobs import Job
from cluster.store.sql.name_prefix import name_begins_with
from cluster.store.sql.visibility import (
    can_see_job,
)
from cluster.store.users import User
from cluster.store.workspaces import WorkspaceMember

MOST_OF_A_KIND = 5
MOST_CANDIDATES = 500
"""The number of jobs with exactly this name among which the newest one that the reader may see is searched."""


@dataclass(frozen=True)
class SearchHit:
    """`name` is the thing's own; `place` is the workspace that it is in, or a person's full name."""

    id: int
    name: str
    place: str = ""
    job_state: JobState | None = None


@dataclass(frozen=True)
class SearchResults:
    """The hits of each kind, at most MOST_OF_A_KIND. A job with the typed number comes first."""

    jobs: tuple[SearchHit, ...] = ()
    trainings: tuple[SearchHit, ...] = ()
    datasets: tuple[SearchHit, ...] = ()
    workspaces: tuple[SearchHit, ...] = ()
    environments: tuple[SearchHit, ...] = ()
    nodes: tuple[SearchHit, ...] = ()
    people: tuple[SearchHit, ...] = ()

    @property
    def all_hits(self) -> tuple[SearchHit, ...]:
        return (
            *self.jobs,
            *self.trainings,
            *self.datasets,
            *self.workspaces,
            *self.environments,
            *self.nodes,
            *self.people,
        )


def search(cluster: Cluster, actor: Actor, query: SearchQuery) -> SearchResults:
    """One statement for each kind, and none if nothing was typed."""
    if not query.text:
        return SearchResults()
    with cluster.store.read() as session:
        people = tuple(find_people(session, actor, query))
        if not query.prefix:
            return SearchResults(people=people)
        return SearchResults(
            tuple(find_jobs(session, actor, query)),
            tuple(read_hits(session, trainings_query(actor, query))),
            tuple(read_hits(session, datasets_query(actor, query))),
            tuple(read_hits(session, workspaces_query(actor, query))),
            tuple(read_hits(session, environments_query(actor, query))),
            tuple(read_hits(session, nodes_query(query))),
            people,
        )


def read_hits(session: Session, query: Select[*tuple[Any, ...]]) -> Iterator[SearchHit]:
    for row in session.execute(query.limit(MOST_OF_A_KIND)):
        yield SearchHit(*row)


def find_jobs(session: Session, actor: Actor, query: SearchQuery) -> Iterator[SearchHit]:
    """Finds the job with that number first, then jobs with exactly that name, then longer names; the newest first."""
    is_called_so = Job.name == query.prefix
    exact = select(Job.id).where(is_called_so).order_by(Job.id.desc()).limit(MOST_CANDIDATES)
    begun = select(Job.id).where(name_begins_with(Job.name, query)).limit(MOST_CANDIDATES)
    has_number = Job.id == (query.job_number or 0)
    # One list of ids: several that are joined by OR let PostgreSQL read all jobs.
    found = union_all(
        select(Job.id).where(has_number), select(exact.subquery().c.id), select(begun.subquery().c.id)
    )
    yield from read_hits(
        session,
        select(Job.id, Job.name, Place.name, Job.state)
        .join(Place, Place.id == Job.workspace_id)
        .where(Job.id.in_(found))
        .where(can_see_job(actor, is_found_otherwise=True))
        .order_by(case((has_number, 0), (is_called_so, 1), else_=2), Job.id.desc()),
    )


def find_people(session: Session, actor: Actor, query: SearchQuery) -> Iterator[SearchHit]:
    """Finds people by name or any part of the full name. Administrators find everybody, others the people of their
    workspaces.
    """
    is_meant = [func.lower(User.full_name).contains(query.text.lower(), autoescape=True)]
    if query.prefix:
        is_meant.append(name_begins_with(User.name, query))
    found = select(User.id, User.name, User.full_name).where(or_(*is_meant), User.state != UserState.SERVICE)
    if not actor.is_administrator:
        own = aliased(WorkspaceMember)
        own_workspaces = select(own.workspace_id).where(own.user_id == actor.user_id)
        colleagues = select(WorkspaceMember.user_id).where(WorkspaceMember.workspace_id.in_(own_workspaces))
        found = found.where(User.id.in_(colleagues))
    yield from read_hits(session, found.order_by(User.name))
