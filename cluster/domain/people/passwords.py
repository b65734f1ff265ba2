"""Check a new password by the ASVS rule, or by the predecessor's rule if the setting says so."""

from cluster.domain.errors import Refused
from cluster.domain.people.common_passwords import COMMON_PASSWORDS

CLASSIC_SIGNS = "~!@#$%^&*<>?"
KEYBOARD_ROWS = ("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")


def check_password(value: str, user_name: str, policy: str = "asvs", field: str = "password") -> str:
    """Returns the password unchanged; raises Refused. The password is never part of the refusal."""
    if "\0" in value:
        raise Refused(field, "password.nul")
    if policy == "classic":
        return _check_classic(value, user_name, field)
    return _check_asvs(value, user_name, field)


def is_common_password(value: str) -> bool:
    """Whether the password is on the list of breached ones, repeats one character, or follows a keyboard row."""
    folded = value.casefold()
    if folded in COMMON_PASSWORDS or len(set(folded)) < 3:
        return True
    return any(folded in row * 2 or folded in row[::-1] * 2 for row in KEYBOARD_ROWS)


def _check_asvs(value: str, user_name: str, field: str) -> str:
    """OWASP ASVS 4.0.3, V2.1: 8 to 128 characters, no required kinds of characters, and no breached password."""
    if not value:
        raise Refused(field, "password.missing", least=8)
    if len(value) < 8:
        raise Refused(field, "password.too_short", least=8, length=len(value))
    if len(value) > 128:
        raise Refused(field, "password.too_long", most=128, length=len(value))
    if not value.strip():
        raise Refused(field, "password.only_spaces")
    if _is_from_name(value, user_name):
        raise Refused(field, "password.is_name")
    if is_common_password(value):
        raise Refused(field, "password.too_common")
    return value


def _check_classic(value: str, user_name: str, field: str) -> str:
    if not value:
        raise Refused(field, "password.missing", least=8)
    if len(value) < 8:
        raise Refused(field, "password.too_short", least=8, length=len(value))
    if len(value) > 20:
        raise Refused(field, "password.too_long", most=20, length=len(value))
    for character in value:
        if not (character.isascii() and character.isalnum()) and character not in CLASSIC_SIGNS:
            raise Refused(field, "password.bad_character", signs=CLASSIC_SIGNS)
    groups = {
        "upper": any(c.isupper() for c in value),
        "lower": any(c.islower() for c in value),
        "digit": any(c.isdigit() for c in value),
        "sign": any(c in CLASSIC_SIGNS for c in value),
    }
    for group, is_there in groups.items():
        if not is_there:
            raise Refused(field, f"password.needs_{group}", signs=CLASSIC_SIGNS)
    if _is_from_name(value, user_name):
        raise Refused(field, "password.is_name")
    return value


def _is_from_name(value: str, user_name: str) -> bool:
    """Whether the password is the user's name, also doubled, reversed, or with digits and signs around it."""
    folded, name = value.casefold(), user_name.casefold()
    if not name:
        return False
    bare = folded.strip("0123456789" + CLASSIC_SIGNS + "._-")
    return bare in (name, name[::-1], name * 2) or folded in (name, name * 2)
