"""The page of default images and the training environment: which libraries a job finds. Nothing can be changed here."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from cluster.services.images import default_images, environments
from cluster.services.repairs.catalogue import can_request_repair
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("images", __name__)

RESTORE = "restore-default-images"


@blueprint.get("/images")
def page() -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    return render_template(
        "images/page.html",
        images=default_images.list_default_images(cluster, actor),
        environment=environments.read_default_environment(cluster),
        restore=RESTORE if can_request_repair(cluster, actor, RESTORE) else None,
    )
