"""The caller's notifications over REST: the events that are told, and the webhook."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.notifications.choices import DEFAULT_WAIT_HOURS, WAIT_HOURS
from cluster.domain.states import NotificationKind
from cluster.services.alerts.trial_messages import send_test_messages
from cluster.services.notifications import choices
from cluster.services.notifications.choices import NotificationProfile
from portal.api.blueprint import ApiBlueprint
from portal.api.schemas import RequestSchema, ResponseSchema
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("notifications", "Notifications: what you are told of, and where.")
KINDS = {"description": f"Any of {', '.join(NotificationKind)}"}
HOURS = {"description": f"One of {', '.join(map(str, WAIT_HOURS))}"}


class ChoicesBody(RequestSchema):
    kinds = fields.List(fields.String(), required=True, validate=validate.Length(max=20), metadata=KINDS)
    wait_hours = fields.Integer(load_default=DEFAULT_WAIT_HOURS, strict=True, metadata=HOURS)
    webhook_url = fields.String(
        load_default=None,
        allow_none=True,
        validate=validate.Length(max=1000),
        metadata={"description": "Empty: no webhook. Without it the URL stays as it is."},
    )


class DeliveryAnswer(ResponseSchema):
    channel = fields.String(required=True)
    state = fields.String(required=True)
    made_at = fields.AwareDateTime(required=True)
    error = fields.String(required=True)


class NotificationChoicesAnswer(ResponseSchema):
    kinds = fields.List(fields.String(), required=True)
    wait_hours = fields.Integer(required=True)
    email = fields.String(required=True, metadata={"description": "Changed on the profile page alone."})
    webhook_host = fields.String(required=True, metadata={"description": "The rest of the URL is not shown."})
    allowed_webhook_hosts = fields.List(fields.String(), required=True)
    last_messages = fields.List(fields.Nested(DeliveryAnswer), required=True)


class ChannelsAnswer(ResponseSchema):
    channels = fields.List(fields.String(), required=True)


@blueprint.route("")
class Choices(MethodView):
    @blueprint.response(200, NotificationChoicesAnswer)
    def get(self) -> dict[str, Any]:
        """Returns the events that you are told of."""
        return describe_choices(choices.read_choices(current_cluster(), current_actor()))

    @blueprint.arguments(ChoicesBody)
    @blueprint.response(200, NotificationChoicesAnswer)
    def put(self, body: dict[str, Any]) -> dict[str, Any]:
        """Choose what you are told of."""
        cluster, actor = current_cluster(), current_actor()
        url = body["webhook_url"]
        if url is None:
            url = choices.read_choices(cluster, actor).choices.webhook_url
        return describe_choices(choices.set_choices(cluster, actor, body["kinds"], body["wait_hours"], url))


@blueprint.route("/test")
class TestMessages(MethodView):
    @blueprint.response(202, ChannelsAnswer)
    def post(self) -> dict[str, Any]:
        """Send yourself a test message by each of your channels."""
        return {"channels": [each.value for each in send_test_messages(current_cluster(), current_actor())]}


def describe_choices(profile: NotificationProfile) -> dict[str, Any]:
    return {
        "kinds": sorted(kind.value for kind in profile.choices.kinds),
        "wait_hours": profile.choices.wait_hours,
        "email": profile.email,
        "webhook_host": profile.choices.webhook_host,
        "allowed_webhook_hosts": list(current_cluster().settings.webhook_hosts),
        "last_messages": profile.deliveries,
    }
