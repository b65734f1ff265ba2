"""A chain of seals shows which entry was edited, removed or added, and which seal is not ours."""

from dataclasses import replace
from typing import Any

import pytest

from cluster.domain.audit_seals import (
    EntryDigester,
    Seal,
    check_entries,
    check_seal,
    check_seal_link,
    derive_seal_key,
    epoch_mac,
    seal_key_id,
    seal_mac,
)

KEY = derive_seal_key("a secret")
DIGESTS = EntryDigester(KEY)
ENTRIES: list[dict[str, Any]] = [{"id": number, "at": "now", "what": f"job.{number}"} for number in (4, 5, 6)]


def seal(number: int, before: Seal | None, entries: list[dict[str, Any]]) -> Seal:
    lines = tuple((entry["id"], DIGESTS.digest_of(entry)) for entry in entries)
    previous = before.mac if before else ""
    return Seal(number, seal_key_id(KEY), lines, previous, seal_mac(KEY, previous, lines))


FIRST = seal(1, None, ENTRIES)
SECOND = seal(2, FIRST, [])


@pytest.mark.parametrize(
    ("entries", "code", "entry"),
    [
        (ENTRIES, None, None),
        ([ENTRIES[0], {**ENTRIES[1], "what": "other"}, ENTRIES[2]], "audit.entry_edited", 5),
        ([ENTRIES[0], ENTRIES[2]], "audit.entry_missing", 5),
        (ENTRIES[:2], "audit.entry_missing", 6),
        ([{"id": 3, "at": "now"}, *ENTRIES], "audit.entry_added", 3),
        ([*ENTRIES, {"id": 7, "at": "now"}], "audit.entry_added", 7),
    ],
)
def test_the_first_entry_that_is_not_what_was_sealed_is_named(
    entries: list[dict[str, Any]], code: str | None, entry: int | None
) -> None:
    violation = check_entries(DIGESTS, FIRST, entries)
    assert (violation and violation.code, violation and violation.data["entry"]) == (code, entry)


@pytest.mark.parametrize(
    ("link", "before", "code"),
    [
        (FIRST, None, None),
        (SECOND, FIRST, None),
        (SECOND, None, "audit.seal_missing"),
        (replace(SECOND, previous="x"), FIRST, "audit.seal_broken"),
        (replace(SECOND, digests=FIRST.digests), FIRST, "audit.seal_broken"),
        (replace(SECOND, key_id="other"), FIRST, "audit.other_key"),
    ],
)
def test_a_link_follows_the_one_before_and_is_by_our_key(
    link: Seal, before: Seal | None, code: str | None
) -> None:
    violation = check_seal(KEY, link, before)
    assert (violation and violation.code) == code


def test_without_the_key_only_the_order_is_checked() -> None:
    assert check_seal_link(replace(SECOND, mac="x"), FIRST) is None
    assert check_seal_link(SECOND, None) is not None


def test_another_secret_makes_other_keys_and_an_epoch_has_its_own_mac() -> None:
    assert derive_seal_key("another") != KEY
    assert epoch_mac(KEY, {"a": 1, "mac": "x"}) == epoch_mac(KEY, {"a": 1})
    assert epoch_mac(KEY, {"a": 2}) != epoch_mac(KEY, {"a": 1})
