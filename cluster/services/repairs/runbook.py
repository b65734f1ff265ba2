"""Reads the runbook, ours and the site's, and finds the symptom that matches a failure."""

from collections.abc import Iterable

import structlog

from cluster.domain.repairs.definition import CatalogueInvalid
from cluster.domain.repairs.runbook import Symptom, SymptomMatch, match_symptoms, parse_symptoms
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import parse_catalogue_yaml, read_catalogue_file

log = structlog.get_logger()


def read_symptoms(cluster: Cluster) -> list[Symptom]:
    """The symptoms in the order of the files' names. A file that cannot be read is left out, so that pages still
    work.
    """
    folder = cluster.settings.ansible_dir
    found: list[Symptom] = []
    for path in sorted((folder / "runbook").glob("*.yml")) if folder else ():
        try:
            found += parse_symptoms(path.name, parse_catalogue_yaml(path, read_catalogue_file(path)))
        except CatalogueInvalid as broken:
            log.warning("a file of the runbook cannot be read", **broken.data)
    return found


def find_symptom(cluster: Cluster, code: str, lines: Iterable[str] = ()) -> SymptomMatch | None:
    """The symptom that matches the code of a failure or the last lines of its log."""
    return match_symptoms(read_symptoms(cluster), code, lines)
