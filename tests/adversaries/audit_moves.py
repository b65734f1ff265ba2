"""Edits, deletions, swaps, cuts and replays of the access log by a taken-over service, and what would hinder its seals.

Standard library alone: these moves are played on hosts too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

ENTRY = "(id, at, actor_name, address, request_id, action, object_kind, outcome, data)"
COPIED = "at, actor_name, address, request_id, action, object_kind, outcome, data"
SEAL = "(id, at, last_id, entries, key_id, digests, previous, mac)"


@dataclass(frozen=True)
class SealedAudit:
    """Numbers of the access log as it was sealed."""

    entries: tuple[int, int, int]
    """In their order; the last two are the newest of their seals."""
    seals: tuple[int, int, int]
    """In their order; the last one is the newest, and covers the last entry."""
    free: int
    """Between two sealed entries; no entry has it."""


class Adversary(Protocol):
    """The services' user, with what the database lets it do."""

    @property
    def audit(self) -> SealedAudit: ...

    @property
    def is_sqlite(self) -> bool: ...

    def sql(self, *statements: str) -> None:
        """Raises an error of the adversary's kind where the database refuses."""


Act = Callable[[Adversary], None]


def add(
    adversary: Adversary, number: int | str, *, at: str = "", action: str = "user.created", data: str = "{}"
) -> None:
    """An entry of its own, as every service may add one."""
    moment = at or "2026-11-20 09:00:00+00:00"
    adversary.sql(
        f"INSERT INTO audit_entries {ENTRY} VALUES"
        f" ({number}, '{moment}', 'minji', '', '', '{action}', 'user', 'done', '{data}')"
    )


def edit_an_entry(adversary: Adversary) -> None:
    adversary.sql(f"UPDATE audit_entries SET actor_name = 'nobody' WHERE id = {adversary.audit.entries[1]}")


def edit_an_entry_by_replacing_it(adversary: Adversary) -> None:
    first, second, _ = adversary.audit.entries
    copy = (
        f"INTO audit_entries (id, {COPIED}) SELECT {second}, {COPIED} FROM audit_entries WHERE id = {first}"
    )
    if adversary.is_sqlite:
        adversary.sql(f"REPLACE {copy}")
    else:
        adversary.sql(f"INSERT {copy} ON CONFLICT (id) DO UPDATE SET actor_name = 'nobody'")


def delete_an_entry(adversary: Adversary) -> None:
    adversary.sql(f"DELETE FROM audit_entries WHERE id = {adversary.audit.entries[1]}")


def delete_all(adversary: Adversary) -> None:
    adversary.sql("DELETE FROM audit_seals", "DELETE FROM audit_entries")


def swap_two(adversary: Adversary) -> None:
    _, second, third = adversary.audit.entries
    adversary.sql(
        f"UPDATE audit_entries SET id = -400 WHERE id = {second}",
        f"UPDATE audit_entries SET id = {second} WHERE id = {third}",
        f"UPDATE audit_entries SET id = {third} WHERE id = -400",
    )


def swap_two_seals(adversary: Adversary) -> None:
    first, second, _ = adversary.audit.seals
    adversary.sql(
        f"UPDATE audit_seals SET id = 1000000, last_id = 10000000 WHERE id = {first}",
        f"UPDATE audit_seals SET id = {first}, last_id = 10000001 WHERE id = {second}",
        f"UPDATE audit_seals SET id = {second}, last_id = {adversary.audit.entries[1]} WHERE id = 1000000",
        f"UPDATE audit_seals SET last_id = {adversary.audit.entries[0]} WHERE id = {first}",
    )


def cut_the_end(adversary: Adversary) -> None:
    adversary.sql(
        f"DELETE FROM audit_seals WHERE id = {adversary.audit.seals[2]}",
        f"DELETE FROM audit_entries WHERE id = {adversary.audit.entries[2]}",
    )


def cut_the_end_and_write_another(adversary: Adversary) -> None:
    cut_the_end(adversary)
    add(adversary, adversary.audit.entries[2])


def cut_all_and_begin_again(adversary: Adversary) -> None:
    delete_all(adversary)
    add(adversary, 1)


def cut_a_seal_alone(adversary: Adversary) -> None:
    adversary.sql(f"DELETE FROM audit_seals WHERE id = {adversary.audit.seals[1]}")


def replay_an_entry_between_others(adversary: Adversary) -> None:
    replay(adversary, adversary.audit.free)


def replay_an_entry_before_all(adversary: Adversary) -> None:
    replay(adversary, -7)


def replay(adversary: Adversary, number: int) -> None:
    adversary.sql(
        f"INSERT INTO audit_entries (id, {COPIED})"
        f" SELECT {number}, {COPIED} FROM audit_entries WHERE id = {adversary.audit.entries[0]}"
    )


def replay_a_seal(adversary: Adversary) -> None:
    """Of its own entries, under the number of the next one."""
    newest = adversary.audit.seals[2]
    adversary.sql(
        f"INSERT INTO audit_seals {SEAL}"
        f" SELECT {newest + 1}, at, 10000000, entries, key_id, digests, previous, mac"
        f" FROM audit_seals WHERE id = {newest}"
    )


def seal_with_another_key(adversary: Adversary) -> None:
    newest = adversary.audit.seals[2]
    adversary.sql(f"UPDATE audit_seals SET mac = 'ffff', key_id = 'ffff' WHERE id = {newest}")


def pretend_a_restore(adversary: Adversary) -> None:
    """An epoch that nobody's key has signed, to explain a cut end."""
    seal, last = adversary.audit.seals[1], adversary.audit.entries[1]
    data = (
        f'{{"epoch": 2, "seal": {seal}, "last": {last}, "digest": "", "made_at": "2026-01-01T00:00:00+00:00",'
        ' "left": ["newest-seal.json"], "mac": "0"}'
    )
    add(adversary, "(SELECT max(id) + 84 FROM audit_entries)", action="audit.epoch", data=data)
    cut_the_end(adversary)


def hide_the_last_check(adversary: Adversary) -> None:
    edit_an_entry(adversary)
    adversary.sql(
        "INSERT INTO installation_facts (name, value) VALUES"
        """ ('audit_checked', '{"at": "2026-11-20T09:00:00+00:00", "sealed": 3, "code": null, "data": {}}')"""
    )


MOVES: dict[str, Act] = {
    act.__name__: act
    for act in (
        edit_an_entry, edit_an_entry_by_replacing_it, delete_an_entry, delete_all, swap_two, swap_two_seals,
        cut_the_end, cut_the_end_and_write_another, cut_all_and_begin_again, cut_a_seal_alone,
        replay_an_entry_between_others, replay_an_entry_before_all, replay_a_seal, seal_with_another_key,
        pretend_a_restore, hide_the_last_check,
    )
}  # fmt: skip
LET_THROUGH = {"replay_an_entry_between_others", "replay_an_entry_before_all"}
"""PostgreSQL lets a service add entries, with any number: these are found and not refused."""
DEEP = "[" * 3000 + "]" * 3000
HINDRANCES: dict[str, dict[str, str]] = {
    "a time without an end": {"at": "infinity"},
    "a time that no calendar of Python has": {"at": "20000-01-01 00:00:00+00:00"},
    "a time before our era": {"at": "0044-03-15 00:00:00+00:00 BC"},
    "the last moment": {"at": "9999-12-31 23:59:59+00:00"},
    "data nested deeply": {"data": DEEP},
    "a number of very many digits": {"data": "9" * 6000},
    "two megabytes": {"data": f'{{"a": "{"x" * 2**21}"}}'},
    "an epoch without a digest": {"action": "audit.epoch", "data": '{"mac": "é"}'},
    "an epoch that is a list": {"action": "audit.epoch", "data": "[1]"},
    "an epoch nested deeply": {"action": "audit.epoch", "data": DEEP},
    "a line break and a half of a character": {"data": '{"a": "\\\\n{\\\\udc80"}'},
}
"""Entries that none may stop the seals or their check, by what is strange in them."""
FACTS = ("audit_checked", "audit_sealed", "access_log")
FACT_VALUES = ("[]", "5", '"x"', DEEP, '{"at": 5, "sealed": "x", "code": 7}', '{"seal": 3, "entries": "many"}',
               '{"last_id": "x"}', '{"last_id": -1}')  # fmt: skip


def set_fact(adversary: Adversary, name: str, value: str) -> None:
    adversary.sql(
        f"DELETE FROM installation_facts WHERE name = '{name}'",
        f"INSERT INTO installation_facts (name, value) VALUES ('{name}', '{value}')",
    )
