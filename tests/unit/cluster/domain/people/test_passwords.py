"""Each of the two policies refuses weak passwords."""

import pytest

from cluster.domain.errors import Refused
from cluster.domain.people.passwords import check_password, is_common_password


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery",
        "tr0ub4dor",
        "비밀번호는길어도된다",
        "x7#kk20a",
        "a" * 4 + "bcd" * 41,
        " leading space",
    ],
)
def test_long_and_uncommon_passwords_pass_without_forced_mixing(password: str) -> None:
    assert check_password(password, "hjkim") == password


@pytest.mark.parametrize(
    ("password", "code"),
    [
        ("", "password.missing"),
        ("short12", "password.too_short"),
        ("x1" * 65, "password.too_long"),
        ("password", "password.too_common"),
        ("PASSWORD1", "password.too_common"),
        ("qwer1234!", "password.too_common"),
        ("12345678", "password.too_common"),
        ("87654321", "password.too_common"),
        ("qwertyuiop", "password.too_common"),
        ("poiuytrewq", "password.too_common"),
        ("aaaaaaaa", "password.too_common"),
        ("abababab", "password.too_common"),
        ("          ", "password.only_spaces"),
        ("hjkim-kim", "password.is_name"),
        ("hjkim-kim123", "password.is_name"),
        ("HJKIM-KIM", "password.is_name"),
        ("mik-mikjh", "password.is_name"),
        ("hjkim-kimhjkim-kim", "password.is_name"),
        ("with\0nul-inside", "password.nul"),
    ],
)
def test_weak_passwords_are_refused(password: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        check_password(password, "hjkim-kim")
    assert (refused.value.code, refused.value.field) == (code, "password")
    assert password not in refused.value.data.values()


@pytest.mark.parametrize("password", ["Abcdef1!", "Zz9?Zz9?Zz9?Zz9?Zz9?"])
def test_the_predecessors_rule_takes_what_it_took(password: str) -> None:
    assert check_password(password, "hjkim", "classic") == password


@pytest.mark.parametrize(
    ("password", "code"),
    [
        ("", "password.missing"),
        ("Ab1!", "password.too_short"),
        ("Ab1!" * 6, "password.too_long"),
        ("abcdef1!", "password.needs_upper"),
        ("ABCDEF1!", "password.needs_lower"),
        ("Abcdefg!", "password.needs_digit"),
        ("Abcdefg1", "password.needs_sign"),
        ("Abcdef1! ", "password.bad_character"),
        ("Abcdef1!한", "password.bad_character"),
        ("Hjkim-1!", "password.bad_character"),
        ("Hjkim12!", "password.is_name"),
    ],
)
def test_the_predecessors_rule_refuses_what_it_refused(password: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        check_password(password, "hjkim", "classic")
    assert refused.value.code == code


def test_without_a_user_name_nothing_resembles_it() -> None:
    assert check_password("x7#kk20a", "") == "x7#kk20a"


def test_common_passwords_are_known_in_any_case() -> None:
    assert is_common_password("TrustNo1")
    assert not is_common_password("a quiet apron at night")
