"""Dismisses failures that need no more attention of a person."""

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.alerts import AlertTopic
from cluster.services.alerts import dismissals
from portal.web import forms, query_params
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("attention", __name__)

TOPICS = (AlertTopic.JOB.value, AlertTopic.DATASET.value)


@blueprint.post("/attention/dismiss")
def dismiss() -> ResponseReturnValue:
    """`topic` is job or dataset; `subject` is the id of one that the person owns, or `all`."""
    forms.require_known_fields("topic", "subject")
    cluster, actor = current_cluster(), current_actor()
    is_all = forms.text_field("subject") == "all"
    subject = None if is_all else query_params.parse_id(request.form, "subject") or 0
    if forms.choice_field("topic", TOPICS) == AlertTopic.JOB:
        dismissals.dismiss_failed_jobs(cluster, actor, subject)
    else:
        dismissals.dismiss_failed_datasets(cluster, actor, subject)
    return redirect(url_for("dashboard.home"), 303)
