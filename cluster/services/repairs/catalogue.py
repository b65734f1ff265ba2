"""Reads the catalogue of repairs from its files again once one has changed: a file that a site adds counts at once."""

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
    """The repairs that this installation offers, by name, and the files that cannot be parsed."""

    entries: Mapping[str, CatalogueEntry]
    broken: Mapping[str, CatalogueInvalid]


def list_offered_repairs(cluster: Cluster) -> Mapping[str, CatalogueEntry]:
    """The offered repairs. Files that cannot be parsed are left out, so that they affect neither pages nor other
    repairs.
    """
    return read_repair_catalogue(cluster).entries


def read_repair_catalogue(cluster: Cluster) -> RepairCatalogue:
    folder, here = cluster.settings.ansible_dir, installation_kinds(cluster.settings.installation_kind)
    if folder is None:
        return RepairCatalogue({}, {})
    return read_catalogue_files(folder, frozenset(here), file_stamps(folder))


FileStamp = tuple[str, int, int, int]
"""Path, inode, bytes, and when it was changed (ns)."""


def file_stamps(folder: Path) -> tuple[FileStamp, ...]:
    """The stamps of all files of the catalogue. While they stay the same, the parsed content is still valid."""
    paths = [*folder.glob("repairs/*.yml"), *folder.glob("playbooks/repair/*.yml")]
    return tuple(sorted(map(file_stamp, paths)))


def file_stamp(path: Path) -> FileStamp:
    try:
        stat = path.stat()
    except OSError:
        # Reading the file says what is wrong.
        return str(path), 0, 0, 0
    return str(path), stat.st_ino, stat.st_size, stat.st_ctime_ns


@lru_cache(maxsize=8)
def read_catalogue_files(
    folder: Path, here: frozenset[InstallationKind], stamps: tuple[FileStamp, ...]
) -> RepairCatalogue:
    entries: dict[str, CatalogueEntry] = {}
    broken: dict[str, CatalogueInvalid] = {}
    stems = sorted(path.stem for path in folder.glob("repairs/*.yml"))
    for name in stems:
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
    """Removes gentler alternatives that this installation does not offer."""
    gentler = tuple(name for name in entry.repair.gentler if name in offered)
    return replace(entry, repair=replace(entry.repair, gentler=gentler))


def installation_kinds(here: InstallationKind) -> set[InstallationKind]:
    """The kinds of this installation. Repairs of a cluster are installed only if there is one."""
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
    """Whether this installation offers the repair to the person."""
    return actor.is_administrator and name in list_offered_repairs(cluster)


def read_catalogue_entry(folder: Path, name: str) -> CatalogueEntry:
    words, playbook = description_file(folder, name), playbook_file(folder, name)
    return parse_catalogue_entry(name, read_catalogue_file(words), read_catalogue_file(playbook))


@lru_cache(maxsize=256)
def parse_catalogue_entry(name: str, words: str, playbook: str) -> CatalogueEntry:
    """Parses the repair. The result is kept by the files' contents, so that repeated pages parse them once."""
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
        # The loader accepts plain values only, and is ten times as fast as the one in Python.
        found: Mapping[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise CatalogueInvalid(path.name, str(error)[:200]) from error
    return found
