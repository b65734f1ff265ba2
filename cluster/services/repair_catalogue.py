"""The catalogue of repairs as it lies on the disk; read anew for each page: a site's own file counts at once."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import structlog
import yaml

from cluster.domain.errors import NotFound
from cluster.domain.people import Actor
from cluster.domain.repairs import CatalogueBroken, Installation, Repair, check_gentler, parse_repair
from cluster.services.context import Cluster
from cluster.settings import Settings

log = structlog.get_logger()


@dataclass(frozen=True)
class Entry:
    """A repair and the digest of its two files."""

    repair: Repair
    digest: str


def installation_of(settings: Settings) -> Installation:
    return Installation.SERVERS if settings.launcher == "systemd" else Installation.EMBEDDED


def has_repairs(cluster: Cluster) -> bool:
    return cluster.settings.ansible_dir is not None


@dataclass(frozen=True)
class Catalogue:
    """What this installation offers, by name, and the files that say nothing: these are left out."""

    entries: Mapping[str, Entry]
    broken: Mapping[str, CatalogueBroken]


def read_catalogue(cluster: Cluster) -> Mapping[str, Entry]:
    """Without the files that cannot be read: a job's page is not their victim, and neither are other repairs."""
    return read_files(cluster).entries


def read_files(cluster: Cluster) -> Catalogue:
    folder, here = cluster.settings.ansible_dir, offered_by(installation_of(cluster.settings))
    entries: dict[str, Entry] = {}
    broken: dict[str, CatalogueBroken] = {}
    stems = sorted(path.stem for path in folder.glob("repairs/*.yml")) if folder else []
    for name in stems:
        assert folder is not None
        try:
            entry = read_entry(folder, name)
            check_gentler(entry.repair, stems)
        except CatalogueBroken as problem:
            log.warning("a repair is left out", **problem.data)
            broken[name] = problem
        else:
            entries[name] = entry
    offered = {name: entry for name, entry in entries.items() if here & entry.repair.installations}
    return Catalogue({name: without_others(entry, offered) for name, entry in offered.items()}, broken)


def without_others(entry: Entry, offered: Collection[str]) -> Entry:
    """Its gentler ways are those that are offered here."""
    gentler = tuple(name for name in entry.repair.gentler if name in offered)
    return replace(entry, repair=replace(entry.repair, gentler=gentler))


def offered_by(here: Installation) -> set[Installation]:
    """The role repairs leaves the files of a cluster out where there is none."""
    return {here, Installation.KUBERNETES} if here is Installation.SERVERS else {here}


def find_entry(cluster: Cluster, name: str) -> Entry:
    """Raises NotFound, CatalogueBroken."""
    catalogue = read_files(cluster)
    if name in catalogue.broken:
        raise catalogue.broken[name]
    if name not in catalogue.entries:
        raise NotFound("repair", name[:60])
    return catalogue.entries[name]


def may_ask_for(cluster: Cluster, actor: Actor, name: str) -> bool:
    """Whether the person is offered the repair of this name here."""
    return actor.is_administrator and name in read_catalogue(cluster)


def read_entry(folder: Path, name: str) -> Entry:
    words, playbook = description_file(folder, name), playbook_file(folder, name)
    return entry_of(name, read_text(words), read_text(playbook))


@lru_cache(maxsize=256)
def entry_of(name: str, words: str, playbook: str) -> Entry:
    """By what the files say, so that a page that is asked for again and again parses them once."""
    digest = hashlib.sha256(f"{words}\0{playbook}".encode()).hexdigest()
    file = Path(f"{name}.yml")
    return Entry(parse_repair(name, parse_yaml(file, words), parse_yaml(file, playbook)), digest)


def description_file(folder: Path, name: str) -> Path:
    return folder / "repairs" / f"{name}.yml"


def playbook_file(folder: Path, name: str) -> Path:
    return folder / "playbooks" / "repair" / f"{name}.yml"


def read_text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise CatalogueBroken(path.name, str(error)) from error


def parse_yaml(path: Path, text: str) -> Mapping[str, Any]:
    try:
        # Plain values only; ten times as fast as the loader in Python, and pages read several files.
        found: Mapping[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise CatalogueBroken(path.name, str(error)[:200]) from error
    return found
