"""Passwords and secrets without a store."""

import re

import pytest

from cluster.services.people import credentials


def test_a_hash_is_argon2id_and_never_the_same() -> None:
    one, other = (credentials.hash_password("correct horse battery") for _ in range(2))
    assert one.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert one != other
    assert credentials.is_password(one, "correct horse battery")
    assert not credentials.is_password(one, "Correct horse battery")
    assert not credentials.needs_rehash(one)
    assert len(one) <= 200


@pytest.mark.parametrize(
    "password", ["비밀번호를 바꿔 주세요", "\N{CROWN}" * 16, " spaces around ", "e\u0301cole nationale"]
)
def test_any_character_counts(password: str) -> None:
    kept = credentials.hash_password(password)
    assert credentials.is_password(kept, password)
    assert not credentials.is_password(kept, password + " ")


@pytest.mark.parametrize("kept", [None, "", "not a hash", "$argon2id$v=19$m=8,t=1,p=1$YQ$YQ"])
def test_without_a_hash_nothing_is_right(kept: str | None) -> None:
    assert not credentials.is_password(kept, "")


def test_a_readable_secret_has_eighty_bits_and_survives_typing() -> None:
    secrets = {credentials.new_readable_secret() for _ in range(200)}
    assert len(secrets) == 200
    for secret in secrets:
        assert re.fullmatch(r"([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}", secret)
        assert credentials.parse_readable_secret(secret.lower().replace("-", "  ")) == secret


@pytest.mark.parametrize(
    ("typed", "meant"), [("", ""), ("oil", "011"), ("\0\ud800", ""), ("A" * 99, "AAAA-AAAA-AAAA-AAAA-A")]
)
def test_odd_typing_is_read_without_failing(typed: str, meant: str) -> None:
    assert credentials.parse_readable_secret(typed) == meant


def test_a_keyed_digest_needs_the_key() -> None:
    assert credentials.keyed_digest("one", "minji") != credentials.keyed_digest("other", "minji")
    assert credentials.is_same_digest(
        credentials.keyed_digest("one", "minji"), credentials.keyed_digest("one", "minji")
    )
