"""Backups: which there are, how old, whether a restore has proved them, how large, and where they lie."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from cluster.domain.backups import next_due
from cluster.services import backups
from cluster.services.repair_catalogue import has_repairs
from portal.current import current_actor, current_cluster, is_fragment

blueprint = Blueprint("backups", __name__)


@blueprint.get("/repairs/backups")
def page() -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    settings = cluster.settings
    kept = backups.list_backups(cluster, actor)
    next_at = settings.backup_at and next_due(cluster.clock(), settings.zone, settings.backup_at)
    return render_template(
        "backups/_list.html" if is_fragment() else "backups/page.html",
        backups=kept,
        proven=backups.last_proven(kept),
        next_at=next_at,
        folder=settings.backups,
        copy_to=settings.backup_copy,
        can_repair=has_repairs(cluster),
    )
