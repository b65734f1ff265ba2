"""Backups: which there are, how old, whether a restore has proved them, how large, and where they lie."""

from flask import Blueprint, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.backups import next_due
from cluster.domain.errors import Conflict
from cluster.domain.repairs import Installation
from cluster.services import backups, etcd_backups, put_aside
from cluster.services.repair_catalogue import has_repairs, installation_of
from portal import forms
from portal.current import current_actor, current_cluster, is_fragment
from portal.saying import say_error

blueprint = Blueprint("backups", __name__)


@blueprint.get("/repairs/backups")
def page() -> ResponseReturnValue:
    return render()


def render(problem: str = "") -> str:
    cluster, actor = current_cluster(), current_actor()
    settings = cluster.settings
    kept = backups.list_backups(cluster, actor)
    next_at = settings.backup_at and next_due(cluster.clock(), settings.zone, settings.backup_at)
    return render_template(
        "backups/_list.html" if is_fragment() else "backups/page.html",
        backups=kept,
        etcd=etcd_backups.list_etcd_backups(cluster, actor),
        proven=backups.last_proven(kept),
        next_at=next_at,
        folder=settings.backups,
        copy_to=settings.backup_copy,
        put_aside=put_aside.list_put_aside(cluster, actor),
        problem=problem,
        can_repair=has_repairs(cluster),
        makes_itself=installation_of(cluster.settings) is Installation.SERVERS,
    )


@blueprint.post("/repairs/backups")
def make() -> ResponseReturnValue:
    """On servers; in the embedded set a repair does it."""
    try:
        forms.expect()
        operation = backups.request_backup(current_cluster(), current_actor())
    except Conflict as conflict:
        return render(say_error(conflict)), 409
    return redirect(url_for("operations.page", operation_id=operation.id), 303)
