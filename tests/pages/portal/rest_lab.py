"""A lab behind REST: a node with two CPU slots, a member with a token, a training with its data."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.operations import lifecycle
from cluster.services.people import api_tokens
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from portal.shared_objects import share_object
from tests.builders import a_dataset, a_node, a_training, a_user, a_workspace, actor_of, an_administrator
from tests.pages.portal.frozen_rows import FrozenRows, freeze_rows


@dataclass
class Lab:
    cluster: Cluster
    client: FlaskClient
    member: User
    workspace: Workspace
    training: Training
    dataset: Dataset
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def headers(
        self, user: User | None = None, scopes: tuple[str, ...] = ("read", "write")
    ) -> dict[str, str]:
        """Of a fresh token of this user."""
        actor, name = actor_of(user or self.member), f"laptop-{next(self.numbers)}"
        _, text = api_tokens.create_api_token(self.cluster, actor, name, list(scopes), 30)
        return {"Authorization": f"Bearer {text}"}


@dataclass
class LabRows:
    member: User
    workspace: Workspace
    training: Training
    dataset: Dataset


def make_rows(cluster: Cluster) -> LabRows:
    manager, member = a_user(cluster), a_user(cluster, "minji")
    workspace = a_workspace(cluster, manager, members=(member,), name="vision")
    a_node(cluster, 2, name="gpu01")
    administrator = actor_of(an_administrator(cluster))
    environment = environments.ensure_default_environment(cluster, administrator, "digest", "/nowhere")
    operation = lifecycle.claim_operation(cluster, environment.operation_id or 0, "a worker")
    assert operation is not None
    environments.finish_build(cluster, operation.id, operation.fence, [])
    return LabRows(
        member,
        workspace,
        a_training(cluster, workspace, member, name="digits-lenet"),
        a_dataset(cluster, workspace, name="digits"),
    )


@cache
def frozen_rows(migrated_file: Path) -> FrozenRows[LabRows]:
    return freeze_rows(migrated_file, make_rows)


@pytest.fixture
def lab(light_cluster: Cluster, one_portal: Flask, migrated_file: Path) -> Iterator[Lab]:
    share_object(one_portal, Cluster, light_cluster)
    rows = frozen_rows(migrated_file).put_into(light_cluster)
    yield Lab(light_cluster, one_portal.test_client(), **vars(rows))
