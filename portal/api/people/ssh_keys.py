"""The caller's public SSH keys over REST: list, add and remove them."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.people.ssh_keys import LONGEST_TEXT
from cluster.services.people import ssh_keys
from cluster.store.users import SshKey
from portal.api.blueprint import ApiBlueprint
from portal.api.schemas import RequestSchema, ResponseSchema
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("ssh-keys", "SSH keys: the public keys with which you enter your running jobs.")
ENDS = {
    "description": "When the API token that added the key ends, and the key with it; null: never by itself."
}


class SshKeyBody(RequestSchema):
    name = fields.String(required=True, metadata={"description": "1–50 of a–z, 0–9 and hyphen"})
    key = fields.String(
        required=True,
        validate=validate.Length(max=LONGEST_TEXT),
        metadata={"description": "The line of the file whose name ends in .pub"},
    )


class SshKeyAnswer(ResponseSchema):
    id = fields.Integer(required=True)
    name = fields.String(required=True)
    kind = fields.String(required=True)
    fingerprint = fields.String(required=True)
    created_at = fields.AwareDateTime(required=True)
    used_at = fields.AwareDateTime(required=True, allow_none=True)
    ends_at = fields.AwareDateTime(required=True, allow_none=True, metadata=ENDS)


class SshKeyList(ResponseSchema):
    items = fields.List(fields.Nested(SshKeyAnswer), required=True)


@blueprint.route("")
class SshKeys(MethodView):
    @blueprint.response(200, SshKeyList)
    def get(self) -> dict[str, Any]:
        """Your SSH keys."""
        found = ssh_keys.list_ssh_keys(current_cluster(), current_actor())
        return {"items": [describe_key(key) for key in found]}

    @blueprint.arguments(SshKeyBody)
    @blueprint.response(201, SshKeyAnswer)
    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        """Add a public key of yours. It ends with the token of this request."""
        cluster, actor = current_cluster(), current_actor()
        added = ssh_keys.add_ssh_key(cluster, actor, body["name"], body["key"])
        found = ssh_keys.list_ssh_keys(cluster, actor)
        return describe_key(next(key for key in found if key.id == added.id))


@blueprint.route("/<int:key_id>")
class OneSshKey(MethodView):
    @blueprint.response(204)
    def delete(self, key_id: int) -> None:
        """Remove one of your keys. Sessions that it opened end within seconds."""
        ssh_keys.remove_ssh_key(current_cluster(), current_actor(), key_id)


def describe_key(key: SshKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "kind": key.public_key.split()[0],
        "fingerprint": key.fingerprint,
        "created_at": key.created_at,
        "used_at": key.used_at,
        "ends_at": key.token.expires_at if key.token else None,
    }
