"""Reads the runbook, ours and what a site has put beside it, and looks a failure up in it."""

from collections.abc import Iterable

import structlog

from cluster.domain.repairs import CatalogueBroken
from cluster.domain.runbook import Match, Sign, match_signs, parse_signs
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import parse_yaml, read_text

log = structlog.get_logger()


def read_signs(cluster: Cluster) -> list[Sign]:
    """In the order of the files' names. A file that cannot be read is left out: a job's page is not its victim."""
    folder = cluster.settings.ansible_dir
    found: list[Sign] = []
    for path in sorted((folder / "runbook").glob("*.yml")) if folder else ():
        try:
            found += parse_signs(path.name, parse_yaml(path, read_text(path)))
        except CatalogueBroken as broken:
            log.warning("a file of the runbook cannot be read", **broken.data)
    return found


def look_up(cluster: Cluster, code: str, lines: Iterable[str] = ()) -> Match | None:
    """What is known of a failure with this code and these last lines of its log."""
    return match_signs(read_signs(cluster), code, lines)
