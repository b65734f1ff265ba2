"""The definition of a repair: parse its file in the catalogue and check a request to run it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cluster.domain.errors import Refused, Unavailable
from cluster.domain.installation import InstallationKind
from cluster.domain.names import check_text

LONGEST_REASON = 500
CATALOGUE_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,253}[A-Za-z0-9])?")
LANGUAGES = ("en", "ko")


class RepairGroup(StrEnum):
    """The order of the catalogue: from repairs that only read to those that cannot be undone."""

    CHECK = "check"
    MEND = "mend"
    DANGEROUS = "dangerous"


class EffectOnJobs(StrEnum):
    """The effect of a repair on jobs that run on its targets."""

    GO_ON = "go_on"
    WAIT = "wait"
    STOP = "stop"


class CheckKind(StrEnum):
    """The kinds of checks in a verification. The task worker knows how to read the facts for each."""

    BACKUP_MADE = "backup_made"
    BACKUP_RESTORED = "backup_restored"
    SERVICES_RUNNING = "services_running"
    NO_STUCK_OPERATIONS = "no_stuck_operations"
    NO_LEFTOVERS = "no_leftovers"
    DISK_FREE = "disk_free"
    PORTAL_ANSWERS = "portal_answers"
    REDIS_ANSWERS = "redis_answers"
    DATABASE_ANSWERS = "database_answers"
    AUDIT_WHOLE = "audit_whole"
    UNITS_RUNNING = "units_running"
    ENDPOINT_ANSWERS = "door_answers"
    SITE_ANSWERS = "site_answers"
    CERTIFICATE_LASTS = "certificate_lasts"
    HOST_STARTED = "host_started"
    GPUS_ANSWER = "gpus_answer"
    HEARTBEAT_FRESH = "heartbeat_fresh"
    ENVIRONMENT_STANDS = "environment_stands"
    CONTROL_PLANE_ANSWERS = "control_plane_answers"
    CONTROL_CERTIFICATES_LAST = "control_certificates_last"
    WORKLOADS_READY = "workloads_ready"
    NODE_READY = "node_ready"
    PODS_NETWORKED = "pods_networked"
    IMAGES_STAND = "images_stand"


KUBERNETES_CHECKS = {
    CheckKind.CONTROL_PLANE_ANSWERS,
    CheckKind.CONTROL_CERTIFICATES_LAST,
    CheckKind.WORKLOADS_READY,
    CheckKind.NODE_READY,
    CheckKind.PODS_NETWORKED,
}
HOST_CHECKS = KUBERNETES_CHECKS | {
    CheckKind.UNITS_RUNNING,
    CheckKind.ENDPOINT_ANSWERS,
    CheckKind.SITE_ANSWERS,
    CheckKind.CERTIFICATE_LASTS,
    CheckKind.HOST_STARTED,
    CheckKind.GPUS_ANSWER,
    CheckKind.IMAGES_STAND,
}
"""Checks that are evaluated for each host from its probe."""
OF_SERVERS = {InstallationKind.SERVERS, InstallationKind.KUBERNETES}


class RepairTargets(StrEnum):
    """The targets of a repair: the master, or nodes that a person chooses."""

    MASTER = "master"
    NODES = "nodes"


class CatalogueInvalid(Unavailable):
    """A file of the catalogue is wrong. `file` and `what` name the place."""

    def __init__(self, file: str, what: str) -> None:
        super().__init__("repair.catalogue_broken", file=file, what=what)


@dataclass(frozen=True)
class BilingualText:
    """A text of the file in both languages."""

    en: str
    ko: str

    def in_language(self, language: str) -> str:
        return self.ko if language == "ko" else self.en


@dataclass(frozen=True)
class RepairCheck:
    """One line of the verification. The meaning of `options` depends on its kind."""

    kind: CheckKind
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Repair:
    """One repair of the catalogue. `timeout` is in seconds; `tasks` are the playbook's own names in their order."""

    name: str
    title: BilingualText
    text: BilingualText
    group: RepairGroup
    installations: frozenset[InstallationKind]
    jobs: EffectOnJobs
    undo: BilingualText
    checks: tuple[RepairCheck, ...]
    tasks: tuple[BilingualText, ...]
    timeout: int
    gentler: tuple[str, ...] = ()
    restarts_operations: bool = False
    """Whether operations that task workers carry out start again."""
    lists: str = ""
    """The deletions that the preview lists before: `leftovers`, or nothing."""
    targets: RepairTargets = RepairTargets.MASTER
    needs_drained_nodes: bool = False
    """Whether each node has to be drained and empty before."""
    verify_timeout: int = 20
    """Seconds that the checks may take to turn green once the playbook has ended well."""
    can_look_ahead: bool = False
    """Whether the playbook supports Ansible's check mode, which changes nothing."""

    @property
    def needs_typed_name(self) -> bool:
        return self.group is RepairGroup.DANGEROUS


def parse_repair(name: str, document: Any, playbook: Any) -> Repair:
    """Parses the repair's two files, as read from YAML. Raises CatalogueInvalid."""
    file = f"ansible/repairs/{name}.yml"
    if not CATALOGUE_NAME.fullmatch(name) or not isinstance(document, dict):
        raise CatalogueInvalid(file, "no mapping of a repair's words")
    known = {*Repair.__dataclass_fields__, "korean"} - {"name", "tasks"}
    unknown = sorted(set(map(str, document)) - known)
    if unknown:
        raise CatalogueInvalid(file, f"unknown: {', '.join(unknown)}")
    try:
        return Repair(
            name=name,
            title=parse_bilingual(document["title"]),
            text=parse_bilingual(document["text"]),
            group=RepairGroup(document["group"]),
            installations=frozenset(InstallationKind(each) for each in document["installations"]),
            jobs=EffectOnJobs(document["jobs"]),
            undo=parse_bilingual(document["undo"]),
            checks=tuple(parse_check(each) for each in document["checks"]),
            tasks=parse_tasks(playbook, document.get("korean", {})),
            timeout=int(document["timeout"]),
            gentler=tuple(document.get("gentler", ())),
            restarts_operations=bool(document.get("restarts_operations", False)),
            lists=str(document.get("lists", "")),
            targets=RepairTargets(document.get("targets", "master")),
            needs_drained_nodes=bool(document.get("needs_drained_nodes", False)),
            verify_timeout=int(document.get("verify_timeout", 20)),
            can_look_ahead=bool(document.get("can_look_ahead", False)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CatalogueInvalid(file, f"{type(error).__name__}: {error}") from error


def parse_bilingual(value: Any) -> BilingualText:
    """Raises KeyError, TypeError, ValueError."""
    texts = {language: " ".join(value[language].split()) for language in LANGUAGES}
    if not all(texts.values()):
        raise ValueError("an empty text")
    return BilingualText(**texts)


def parse_check(value: Any) -> RepairCheck:
    options = dict(value)
    return RepairCheck(CheckKind(options.pop("kind")), options)


def parse_tasks(playbook: Any, korean: Mapping[str, str]) -> tuple[BilingualText, ...]:
    """The names of all tasks of all plays, with their Korean. Raises KeyError, ValueError."""
    names = [str(task["name"]) for play in playbook for task in flatten_tasks(play["tasks"])]
    if not names or len(set(names)) != len(names):
        raise ValueError("tasks without a name of their own")
    return tuple(BilingualText(en=name, ko=str(korean[name])) for name in names)


def flatten_tasks(tasks: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The tasks in the order in which they run if none fails, without the blocks themselves."""
    for task in tasks:
        if "block" in task:
            yield from flatten_tasks([*task["block"], *task.get("always", [])])
        else:
            yield task


def check_try_first(repair: Repair, known: Collection[str]) -> None:
    """Checks that the repair's reference to another one is valid. Raises CatalogueInvalid."""
    for gentler in repair.gentler:
        if gentler not in known:
            raise CatalogueInvalid(f"ansible/repairs/{repair.name}.yml", f"no such gentler way: {gentler}")


def check_reason(text: str) -> str:
    """Raises Refused without a reason, because the audit entry contains it."""
    reason = " ".join(text.split())
    if not reason:
        raise Refused("reason", "repair.reason_missing")
    if len(reason) > LONGEST_REASON:
        raise Refused("reason", "repair.reason_too_long", most=LONGEST_REASON)
    return check_text(reason, "reason", LONGEST_REASON)


def check_typed_name(repair: Repair, typed: str, target: str) -> None:
    """Raises Refused if a dangerous repair is requested without the target's name."""
    if repair.needs_typed_name and typed.strip() != target:
        raise Refused("typed", "repair.other_name", typed=typed.strip()[:60], name=target)


def check_nodes_chosen(repair: Repair, chosen: Sequence[object]) -> None:
    """Raises Refused if no node is chosen for a repair of nodes."""
    if repair.targets is RepairTargets.NODES and not chosen:
        raise Refused("nodes", "repair.no_node")


def check_nodes_drained(repair: Repair, busy: Sequence[str]) -> None:
    """`busy` are the names of nodes on which something runs or may start. Raises Refused."""
    if repair.needs_drained_nodes and busy:
        raise Refused("nodes", "repair.not_drained", names=list(busy))


def check_dry_run(repair: Repair, is_dry_run: bool) -> None:
    """Raises Refused if the playbook does not support check mode."""
    if is_dry_run and not repair.can_look_ahead:
        raise Refused("look_ahead", "repair.no_look_ahead")


def check_inventory_host(name: str) -> str:
    """The host's name in Ansible's inventory. Raises Refused for a name that could have another meaning there."""
    if not HOST_NAME.fullmatch(name):
        raise Refused("target", "repair.host_unusable", name=name[:60])
    return name


def typical_seconds(seconds: Sequence[float]) -> float | None:
    """The median duration of the last runs. None if there is none."""
    known = sorted(seconds)
    return known[len(known) // 2] if known else None
