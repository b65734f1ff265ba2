"""Which of some repairs this installation has, as links to their forecasts, for who may ask for them."""

from collections.abc import Iterable, Mapping
from typing import Any

from flask import url_for

from cluster.domain.people import Actor
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import Entry, read_catalogue
from portal.current import current_actor, read_once
from portal.i18n import language


def offer(names: Iterable[str], node_id: int | None = None) -> list[tuple[str, str]]:
    """Titles and forecasts, in this order; none for others than administrators. `node_id` is chosen already."""
    if not current_actor().is_administrator:
        return []
    known = read_once(catalogue)
    where: dict[str, Any] = {"nodes": node_id} if node_id is not None else {}
    return [
        (known[name].repair.title.in_language(language()), url_for("repairs.forecast", repair=name, **where))
        for name in dict.fromkeys(names)
        if name in known
    ]


def catalogue(cluster: Cluster, actor: Actor) -> Mapping[str, Entry]:
    return read_catalogue(cluster)
