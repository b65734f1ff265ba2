"""The SSH door over REST: where it is, by which key it is known, or why it is closed."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields

from cluster.services.ssh.door_state import read_door_state
from portal.api.blueprint import ApiBlueprint, describe_sentence
from portal.api.schemas import ResponseSchema, Sentence
from portal.presenters.jobs.job_ssh import door_host
from portal.web.request_context import current_cluster

blueprint = ApiBlueprint("ssh-door", "The SSH door, through which you enter your running jobs as `job-<id>`.")


class SshDoorAnswer(ResponseSchema):
    is_open = fields.Boolean(required=True)
    host = fields.String(required=True)
    port = fields.Integer(required=True)
    host_key = fields.String(
        required=True, metadata={"description": "OpenSSH's `KIND BASE64`; empty: closed"}
    )
    fingerprint = fields.String(required=True)
    reason = fields.Nested(Sentence, required=True, allow_none=True)


@blueprint.route("")
class Door(MethodView):
    @blueprint.response(200, SshDoorAnswer)
    def get(self) -> dict[str, Any]:
        """Returns where the SSH door is, or why it is closed."""
        door = read_door_state(current_cluster())
        return {
            "is_open": door.is_open,
            "host": door_host(current_cluster()),
            "port": door.port,
            "host_key": door.host_key,
            "fingerprint": door.fingerprint,
            "reason": describe_sentence(door.reason, dict(door.data)),
        }
