"""Environments as REST shows them: their schemas, and the values of one."""

from collections.abc import Sequence
from typing import Any

from marshmallow import fields

from cluster.domain.environments.choices import is_too_old
from cluster.services.images import (
    environment_list,
    environment_use,
)
from cluster.services.images.environment_use import EnvironmentUse
from cluster.services.images.gpu_support import support_of
from cluster.store.environments import Environment
from cluster.store.workspaces import Workspace
from portal.api.blueprint import describe_named, describe_sentence
from portal.api.environments.images import PartAnswer, describe_library
from portal.api.schemas import NamedObject, ResponseSchema, Sentence
from portal.web.request_context import current_actor, current_cluster


class EnvironmentUseAnswer(ResponseSchema):
    trainings = fields.Integer(required=True)
    jobs = fields.Integer(required=True, metadata={"description": "Those that have not ended"})


class EnvironmentSummary(ResponseSchema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    digest = fields.String(required=True)
    source = fields.String(required=True)
    state = fields.String(required=True)
    description = fields.String(required=True)
    python = fields.String(required=True)
    is_python_too_old = fields.Boolean(required=True)
    gpu_support = fields.String(required=True)
    size_bytes = fields.Integer(allow_none=True)
    reference = fields.String(required=True, metadata={"description": "By which an image is pulled"})
    workspaces = fields.List(
        fields.Nested(NamedObject),
        required=True,
        metadata={"description": "Those among yours that may choose it; empty: every workspace"},
    )
    use = fields.Nested(EnvironmentUseAnswer, required=True)
    ready_at = fields.AwareDateTime(allow_none=True)
    deleted_at = fields.AwareDateTime(allow_none=True)


class DescribedEnvironment(EnvironmentSummary):
    contents = fields.List(fields.Nested(PartAnswer), required=True)
    requirements = fields.String(allow_none=True)
    pins = fields.String(allow_none=True)
    base_id = fields.Integer(
        allow_none=True,
        metadata={"description": "The environment of which it is a copy with packages on top"},
    )
    operation_id = fields.Integer(allow_none=True)
    error = fields.Nested(Sentence, allow_none=True)


class EnvironmentSummaryList(ResponseSchema):
    items = fields.List(fields.Nested(EnvironmentSummary), required=True)


def summarise_environment(
    row: Environment, use: EnvironmentUse, scope: Sequence[Workspace]
) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "digest": row.digest,
        "source": row.source,
        "state": row.state.value,
        "description": row.description,
        "python": row.python,
        "is_python_too_old": is_too_old(row.python),
        "gpu_support": support_of(row).value,
        "size_bytes": row.size_bytes,
        "reference": row.reference,
        "workspaces": [describe_named(workspace) for workspace in scope],
        "use": {"trainings": use.trainings, "jobs": use.jobs},
        "ready_at": row.ready_at,
        "deleted_at": row.deleted_at,
    }


def read_described(environment_id: int) -> dict[str, Any]:
    cluster, actor = current_cluster(), current_actor()
    row = environment_list.read_environment(cluster, actor, environment_id)
    operation = row.operation
    use = environment_use.read_use(cluster, actor, environment_id)
    scope = environment_list.read_scopes(cluster, actor, [row])[row.id]
    return summarise_environment(row, use, scope) | {
        "contents": [describe_library(*line) for line in row.contents],
        "requirements": row.requirements,
        "pins": row.pins,
        "base_id": row.base_id,
        "operation_id": row.operation_id,
        "error": describe_sentence(operation.error_code, operation.error_data) if operation else None,
    }
