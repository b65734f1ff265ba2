"""The page of backups: age, size, place and whether a drill has verified them."""

from flask import Blueprint, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.backups.schedule import next_due
from cluster.domain.errors import Conflict
from cluster.services.backups import etcd_manifests, manifests, pre_restore_copies, requests
from cluster.services.repairs.catalogue import has_repair_catalogue
from portal.i18n.messages import localized_error
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster, is_fragment_request

blueprint = Blueprint("backups", __name__)


@blueprint.get("/repairs/backups")
def page() -> ResponseReturnValue:
    return render_backups()


def render_backups(problem: str = "") -> str:
    cluster, actor = current_cluster(), current_actor()
    settings = cluster.settings
    backups = manifests.list_backups(cluster, actor)
    next_at = settings.backup_at and next_due(cluster.clock(), settings.zone, settings.backup_at)
    return render_template(
        "backups/_list.html" if is_fragment_request() else "backups/page.html",
        backups=backups,
        etcd=etcd_manifests.list_etcd_backups(cluster, actor),
        proven=manifests.last_verified_backup(backups),
        next_at=next_at,
        folder=settings.backups,
        copy_to=settings.backup_copy,
        put_aside=pre_restore_copies.list_pre_restore_copies(cluster, actor),
        problem=problem,
        can_repair=has_repair_catalogue(cluster),
        makes_itself=settings.installation_kind.capabilities.makes_backups_on_request,
    )


@blueprint.post("/repairs/backups")
def make() -> ResponseReturnValue:
    """Makes a backup on servers. On one machine a repair does it."""
    try:
        forms.require_known_fields()
        operation = requests.request_backup(current_cluster(), current_actor())
    except Conflict as conflict:
        return render_backups(localized_error(conflict)), 409
    return redirect(url_for("operations.page", operation_id=operation.id), 303)
