"""Reads the catalogue of repairs from its files anew for each page, so that a file that a site adds counts at once."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import structlog
import yaml

from cluster.domain.errors import NotFound
from cluster.domain.installation import InstallationKind
from cluster.domain.people.actor import Actor
from cluster.domain.repairs.definition import CatalogueInvalid, Repair, check_try_first, parse_repair
from cluster.services.context import Cluster

log = structlog.get_logger()


@dataclass(frozen=True)
class CatalogueEntry:
    """A repair and the digest of its two files."""

    repair: Repair
    digest: str


def has_repair_catalogue(cluster: Cluster) -> bool:
    return cluster.settings.ansible_dir is not None


@dataclass(frozen=True)
class RepairCatalogue:
    """What this installation offers, by name, and the files that say nothing: these are left out."""

    entries: Mapping[str, CatalogueEntry]
    broken: Mapping[str, CatalogueInvalid]


def list_offered_repairs(cluster: Cluster) -> Mapping[str, CatalogueEntry]:
    """Without the files that cannot be read: a job's page is not their victim, and neither are other repairs."""
    return read_repair_catalogue(cluster).entries


def read_repair_catalogue(cluster: Cluster) -> RepairCatalogue:
    folder, here = cluster.settings.ansible_dir, installation_kinds(cluster.settings.installation_kind)
    entries: dict[str, CatalogueEntry] = {}
    broken: dict[str, CatalogueInvalid] = {}
    stems = sorted(path.stem for path in folder.glob("repairs/*.yml")) if folder else []
    for name in stems:
        assert folder is not None
        try:
            entry = read_catalogue_entry(folder, name)
            check_try_first(entry.repair, stems)
        except CatalogueInvalid as problem:
            log.warning("a repair is left out", **problem.data)
            broken[name] = problem
        else:
            entries[name] = entry
    offered = {name: entry for name, entry in entries.items() if here & entry.repair.installations}
    return RepairCatalogue(
        {name: with_offered_alternatives(entry, offered) for name, entry in offered.items()}, broken
    )


def with_offered_alternatives(entry: CatalogueEntry, offered: Collection[str]) -> CatalogueEntry:
    """Its gentler ways are those that are offered here."""
    gentler = tuple(name for name in entry.repair.gentler if name in offered)
    return replace(entry, repair=replace(entry.repair, gentler=gentler))


def installation_kinds(here: InstallationKind) -> set[InstallationKind]:
    """The role repairs leaves the files of a cluster out where there is none."""
    return {here, InstallationKind.KUBERNETES} if here.capabilities.may_have_kubernetes else {here}


def find_catalogue_entry(cluster: Cluster, name: str) -> CatalogueEntry:
    """Raises NotFound, CatalogueInvalid."""
    catalogue = read_repair_catalogue(cluster)
    if name in catalogue.broken:
        raise catalogue.broken[name]
    if name not in catalogue.entries:
        raise NotFound("repair", name[:60])
    return catalogue.entries[name]


def can_request_repair(cluster: Cluster, actor: Actor, name: str) -> bool:
    """Whether the person is offered the repair of this name here."""
    return actor.is_administrator and name in list_offered_repairs(cluster)


def read_catalogue_entry(folder: Path, name: str) -> CatalogueEntry:
    words, playbook = description_file(folder, name), playbook_file(folder, name)
    return parse_catalogue_entry(name, read_catalogue_file(words), read_catalogue_file(playbook))


@lru_cache(maxsize=256)
def parse_catalogue_entry(name: str, words: str, playbook: str) -> CatalogueEntry:
    """By what the files say, so that a page that is asked for again and again parses them once."""
    digest = hashlib.sha256(f"{words}\0{playbook}".encode()).hexdigest()
    file = Path(f"{name}.yml")
    return CatalogueEntry(
        parse_repair(name, parse_catalogue_yaml(file, words), parse_catalogue_yaml(file, playbook)), digest
    )


def description_file(folder: Path, name: str) -> Path:
    return folder / "repairs" / f"{name}.yml"


def playbook_file(folder: Path, name: str) -> Path:
    return folder / "playbooks" / "repair" / f"{name}.yml"


def read_catalogue_file(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise CatalogueInvalid(path.name, str(error)) from error


def parse_catalogue_yaml(path: Path, text: str) -> Mapping[str, Any]:
    try:
        # Plain values only; ten times as fast as the loader in Python, and pages read several files.
        found: Mapping[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise CatalogueInvalid(path.name, str(error)[:200]) from error
    return found
