"""The queries of the search, one for each kind of thing."""

from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import aliased

from cluster.domain.people.actor import Actor
from cluster.domain.search import SearchQuery
from cluster.domain.states import EnvironmentSource
from cluster.store.datasets import Dataset
from cluster.store.environments import Environment
from cluster.store.nodes import IS_NODE_KNOWN, Node
from cluster.store.sql.name_prefix import name_begins_with
from cluster.store.sql.visibility import (
    can_see_dataset,
    can_see_environment,
    can_see_training,
    can_see_workspace,
)
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace

Place = aliased(Workspace)
"""The workspace whose name is shown. It has an alias, because the conditions of visibility join workspaces too."""


def trainings_query(actor: Actor, query: SearchQuery) -> Select[*tuple[Any, ...]]:
    return (
        select(Training.id, Training.name, Place.name)
        .join(Place, Place.id == Training.workspace_id)
        .where(name_begins_with(Training.name, query), can_see_training(actor))
        .order_by(Training.name, Training.id)
    )


def datasets_query(actor: Actor, query: SearchQuery) -> Select[*tuple[Any, ...]]:
    return (
        select(Dataset.id, Dataset.name, Place.name)
        .join(Place, Place.id == Dataset.workspace_id)
        .where(name_begins_with(Dataset.name, query), Dataset.deleted_at.is_(None), can_see_dataset(actor))
        .order_by(Dataset.name, Dataset.id)
    )


def workspaces_query(actor: Actor, query: SearchQuery) -> Select[*tuple[Any, ...]]:
    return (
        select(Workspace.id, Workspace.name)
        .where(name_begins_with(Workspace.name, query), can_see_workspace(actor))
        .order_by(Workspace.name)
    )


def environments_query(actor: Actor, query: SearchQuery) -> Select[*tuple[Any, ...]]:
    return (
        select(Environment.id, Environment.name)
        .where(
            name_begins_with(Environment.name, query),
            Environment.deleted_at.is_(None),
            Environment.source != EnvironmentSource.DEFAULT,
            can_see_environment(actor),
        )
        .order_by(Environment.name)
    )


def nodes_query(query: SearchQuery) -> Select[*tuple[Any, ...]]:
    """Every person sees all nodes."""
    named = name_begins_with(Node.name, query)
    return select(Node.id, Node.name).where(named, IS_NODE_KNOWN).order_by(Node.name)
