"""Links to the previews of repairs that this installation offers, for administrators."""

from collections.abc import Iterable, Mapping
from typing import Any

from flask import url_for

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import CatalogueEntry, list_offered_repairs
from portal.i18n.translate import request_language
from portal.web.request_context import current_actor, read_once


def list_repair_links(names: Iterable[str], node_id: int | None = None) -> list[tuple[str, str]]:
    """Titles and previews in the given order; none unless the reader is an administrator. `node_id` is preselected."""
    if not current_actor().is_administrator:
        return []
    catalogue = read_once(read_catalogue_for)
    where: dict[str, Any] = {"nodes": node_id} if node_id is not None else {}
    return [
        (
            catalogue[name].repair.title.in_language(request_language()),
            url_for("repairs.forecast", repair=name, **where),
        )
        for name in dict.fromkeys(names)
        if name in catalogue
    ]


def read_catalogue_for(cluster: Cluster, actor: Actor) -> Mapping[str, CatalogueEntry]:
    return list_offered_repairs(cluster)
