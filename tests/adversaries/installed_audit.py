"""Plays moves of the services' user against the access log of an installed master.

``python -m tests.adversaries.installed_audit``, as root, with the settings of the scheduler. The moves go by psql as
`groundcrew`, by the role that all services share; the installed scheduler seals, and `groundcrew-audit verify` checks.
Each move is a line of JSON: what the database said, and what the check said. What a move added is taken away before the
next one, by the owner of PostgreSQL.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from cluster.domain.people.actor import Actor
from cluster.services.audit.recorded_seals import record_newest_seal
from cluster.services.audit.seals import seal_entries
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.audit import AuditEntry, audit_entry_columns
from tests.adversaries import audit_moves
from tests.adversaries.audit_moves import SealedAudit
from tests.adversaries.installed import ask, say, until
from worker.composition import open_cluster

SERVICES = "groundcrew"
SEALED_WITHIN = 240.0
"""Seconds: an entry has to be a minute old, and the scheduler seals every minute."""
UNREFUSED = "begin; set local session_replication_role = replica"
OTHER_ROLES = {
    "speak as the role that seals": ("groundcrew_sealer", "select 1"),
    "speak as the owner of the tables": ("groundcrew_owner", "select 1"),
    "become the role that seals": (SERVICES, "set role groundcrew_sealer"),
    "become the owner of the tables": (SERVICES, "set role groundcrew_owner"),
    "take the triggers away": (SERVICES, "alter table audit_entries disable trigger all"),
    "take the triggers out of effect": (SERVICES, "set session_replication_role = replica"),
    "make a function that root would call": (
        SERVICES,
        "create function public.max(bigint) returns bigint language sql as 'select 1::bigint'",
    ),
    # PostgreSQL only warns of a right that is not there to be given.
    "give oneself the right": (
        SERVICES,
        "grant update on audit_entries to groundcrew; update audit_entries set actor_name = '' where false",
    ),
}


class RefusedByDatabase(Exception):
    """What PostgreSQL has said."""


@dataclass(frozen=True)
class Adversary:
    """The services' user at psql."""

    audit: SealedAudit
    is_sqlite: bool = False

    def sql(self, *statements: str) -> None:
        speak(SERVICES, *statements)


def speak(role: str, *statements: str) -> None:
    """As the services' user. All or nothing, as within one transaction of a service."""
    words = ["runuser", "-u", SERVICES, "--", "psql", "--no-psqlrc", "-qAt", "--single-transaction"]
    words += ["--set", "ON_ERROR_STOP=1", f"postgresql:///groundcrew?user={role}"]
    said = ";\n".join((*statements, ""))
    done = subprocess.run(words, input=said, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode != 0:
        raise RefusedByDatabase(done.stderr.strip()[-600:])


def refusal_of(act: Callable[..., None], *words: Any, **named: Any) -> str:
    """Empty where the database let it be done."""
    try:
        act(*words, **named)
    except RefusedByDatabase as refusal:
        return str(refusal)
    return ""


def verify() -> str:
    """Empty where the access log is as it was sealed."""
    own = {"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["groundcrew-audit", "verify"]
    done = subprocess.run(words, env=own, capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stderr.strip() or "no reason given" if done.returncode else ""


def add_entry(cluster: Cluster) -> int:
    """By an honest service, with a free number before it, as a refused commit leaves one."""
    ask("select nextval('audit_entries_id_seq')")
    columns = audit_entry_columns(cluster.clock(), Actor(1, "minji"), "user.created", 2, {})
    entry = AuditEntry(**columns)
    with cluster.store.write() as session:
        session.add(entry)
    return int(entry.id)


def seal_three(cluster: Cluster) -> SealedAudit:
    """Three entries, each under a seal of its own."""
    entries, seals = [], []
    for _ in range(3):
        entries.append(add_entry(cluster))
        seal_entries(cluster, lambda seal: record_newest_seal(cluster.settings, seal), timedelta(0))
        seals.append(int(ask("select max(id) from audit_seals")))
    first, second, third = entries
    return SealedAudit((first, second, third), (seals[0], seals[1], seals[2]), free=second - 1)


def play_moves(adversary: Adversary) -> None:
    for name, act in audit_moves.MOVES.items():
        before = ask("select coalesce(max(id), 0) from audit_entries")
        refusal, found = refusal_of(act, adversary), verify()
        added = f"id in (-7, {adversary.audit.free}) or id > {before} and actor_name = 'minji'"
        ask(f"{UNREFUSED}; delete from audit_entries where {added}; commit")
        say(move=name, refusal=refusal, found=found, left=verify())


def play_roles() -> None:
    for name, (role, statement) in OTHER_ROLES.items():
        say(move=name, refusal=refusal_of(speak, role, statement), found="", left=verify())


def hinder(cluster: Cluster, adversary: Adversary) -> None:
    """All at once; then the installed scheduler has to seal them, and what an honest service adds after them."""
    for name, words in audit_moves.HINDRANCES.items():
        number = "nextval('audit_entries_id_seq')"
        say(hindrance=name, refusal=refusal_of(audit_moves.add, adversary, number, **words))
    honest = add_entry(cluster)
    began = time.monotonic()
    while not is_sealed(honest) and time.monotonic() - began < SEALED_WITHIN:
        for fact in audit_moves.FACTS:
            for value in audit_moves.FACT_VALUES:
                audit_moves.set_fact(adversary, fact, value)
        until(lambda: is_sealed(honest), 2.0)
    seconds = round(time.monotonic() - began)
    say(honest=honest, is_sealed=is_sealed(honest), seconds=seconds, found=verify())
    edited = f"update audit_entries set data = '{{\"a\": 1}}' where id = {honest}"
    ask(f"{UNREFUSED}; {edited}; commit")
    say(edited=honest, found=verify())


def is_sealed(entry: int) -> bool:
    return ask(f"select count(*) from audit_seals where last_id >= {entry}") != "0"


def main(arguments: list[str]) -> int:
    """With the word `roles` only what other roles and other rights would be needed for."""
    assert os.geteuid() == 0
    if arguments == ["roles"]:
        play_roles()
        return 0
    cluster = open_cluster(Settings.from_environment())
    adversary = Adversary(seal_three(cluster))
    say(found=verify())
    play_moves(adversary)
    play_roles()
    hinder(cluster, adversary)
    cluster.store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
