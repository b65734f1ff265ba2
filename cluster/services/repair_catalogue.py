"""The catalogue of repairs as it lies on the disk; read anew for each page: a site's own file counts at once."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cluster.domain.errors import NotFound
from cluster.domain.people import Actor
from cluster.domain.repairs import CatalogueBroken, Installation, Repair, check_catalogue, parse_repair
from cluster.services.context import Cluster
from cluster.settings import Settings


@dataclass(frozen=True)
class Entry:
    """A repair and the digest of its two files."""

    repair: Repair
    digest: str


def installation_of(settings: Settings) -> Installation:
    return Installation.SERVERS if settings.launcher == "systemd" else Installation.EMBEDDED


def has_repairs(cluster: Cluster) -> bool:
    return cluster.settings.ansible_dir is not None


def read_catalogue(cluster: Cluster) -> dict[str, Entry]:
    """What this installation offers, by name. Raises CatalogueBroken."""
    folder = cluster.settings.ansible_dir
    if folder is None:
        return {}
    entries = {path.stem: read_entry(folder, path.stem) for path in sorted(folder.glob("repairs/*.yml"))}
    check_catalogue({name: entry.repair for name, entry in entries.items()})
    here = offered_by(installation_of(cluster.settings))
    return {name: entry for name, entry in entries.items() if here & entry.repair.installations}


def offered_by(here: Installation) -> set[Installation]:
    """The role repairs leaves the files of a cluster out where there is none."""
    return {here, Installation.KUBERNETES} if here is Installation.SERVERS else {here}


def find_entry(cluster: Cluster, name: str) -> Entry:
    """Raises NotFound, CatalogueBroken."""
    entry = read_catalogue(cluster).get(name)
    if entry is None:
        raise NotFound("repair", name[:60])
    return entry


def may_ask_for(cluster: Cluster, actor: Actor, name: str) -> bool:
    """Whether the person is offered the repair of this name here."""
    return actor.is_administrator and name in read_catalogue(cluster)


def read_entry(folder: Path, name: str) -> Entry:
    words, playbook = description_file(folder, name), playbook_file(folder, name)
    texts = [read_text(words), read_text(playbook)]
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    return Entry(parse_repair(name, parse_yaml(words, texts[0]), parse_yaml(playbook, texts[1])), digest)


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
