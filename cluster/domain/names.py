"""Check the names of users, workspaces, trainings, datasets, jobs and files, and suggest an allowed one."""

import unicodedata

from cluster.domain.errors import Refused

RESERVED_USER_NAMES = frozenset(
    {"root", "groundcrew", "system", "service", "nobody", "anonymous", "everyone"}
)
"""Names under which audit entries and the operating system mean somebody who is not a person."""

LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
JOB_LETTERS = LETTERS | frozenset("._=")
"""The characters of job names. A sweep writes values into them: `lenet-learning_rate=0.01`."""

FORBIDDEN_IN_FILES = frozenset(' *?:<>"|\\/\u20a9\uffe6')
MAIL_FORBIDDEN = frozenset(' ,;:<>()[]\\"')
LONGEST_MAIL_ADDRESS = 254
LONGEST_JOB_NAME = 60
LONGEST_FILE_NAME = 255
"""Bytes of UTF-8, the limit of Linux file systems."""
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
"""Unicode categories of characters that are invisible or unassigned. They are refused under any setting."""


def check_user_name(value: str, field: str = "name") -> str:
    """A user name has 3 to 20 of a–z 0–9 hyphen. Raises Refused."""
    _check_name(value, field, 3, 20)
    if value in RESERVED_USER_NAMES:
        raise Refused(field, "name.reserved", name=value)
    return value


def check_workspace_name(value: str, field: str = "name") -> str:
    """3 to 20 of a–z 0–9 hyphen. Raises Refused."""
    return _check_name(value, field, 3, 20)


def check_training_name(value: str, field: str = "name") -> str:
    """1 to 20 of a–z 0–9 hyphen. Raises Refused."""
    return _check_name(value, field, 1, 20)


def check_dataset_name(value: str, field: str = "name") -> str:
    """1 to 50 of a–z 0–9 hyphen. Raises Refused."""
    return _check_name(value, field, 1, 50)


def check_environment_name(value: str, field: str = "name") -> str:
    """2 to 40 of a–z 0–9 hyphen dot, but not `default`. Raises Refused."""
    _check_name(value, field, 2, 40, LETTERS | {"."})
    if value == "default":
        raise Refused(field, "name.reserved", name=value)
    return value


def check_token_name(value: str, field: str = "name") -> str:
    """1 to 50 of a–z 0–9 hyphen. Raises Refused."""
    return _check_name(value, field, 1, 50)


def check_key_name(value: str, field: str = "name") -> str:
    """1 to 50 of a–z 0–9 hyphen. Raises Refused."""
    return _check_name(value, field, 1, 50)


def check_job_name(value: str, field: str = "name") -> str:
    """1 to 60 of a–z 0–9 hyphen dot underscore equals sign. Raises Refused."""
    return _check_name(value, field, 1, LONGEST_JOB_NAME, JOB_LETTERS)


def check_mail_address(value: str, field: str = "email") -> str:
    """One plain address without a display name, so that it cannot contain a mail header. Raises Refused."""
    local, at, host = value.partition("@")
    is_plain = value.isascii() and value.isprintable() and not set(value) & MAIL_FORBIDDEN
    if not (is_plain and at and local and host and "@" not in host and len(value) <= LONGEST_MAIL_ADDRESS):
        raise Refused(field, "email.unusable", typed=value[:60])
    return value


def check_text(value: str, field: str, longest: int) -> str:
    """Checks text of one or more lines, such as a description or a full name, and returns it stripped.

    Raises Refused for too many characters, and for control characters other than line ends and tabs.
    """
    text = value.strip().replace("\r\n", "\n")
    if len(text) > longest:
        raise Refused(field, "text.too_long", most=longest, length=len(text))
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t":
            raise Refused(field, "text.bad_character", **describe_character(character))
    return text


def describe_character(character: str) -> dict[str, str]:
    """Describes a character that may be invisible, wide, or look like another one, so that a sentence can name it."""
    visible = unicodedata.category(character) not in UNSEEN and not unicodedata.combining(character)
    name = unicodedata.name(character, "").lower() or "control character"
    return {"character": character if visible else "", "codepoint": f"U+{ord(character):04X}", "called": name}


def suggest_name(value: str, longest: int, letters: frozenset[str] = LETTERS) -> str:
    """The nearest allowed name: Hangul becomes Latin, wide and capital letters become plain ones, hyphens replace the
    rest.

    The result may be empty, or shorter than the rule requires.
    """
    folded = unicodedata.normalize("NFKD", romanise_hangul(value)).casefold()
    kept = (c if c in letters else "-" for c in folded if not _vanishes(c))
    words = [word for word in "".join(kept).split("-") if word]
    return "-".join(words)[:longest].strip("-")


def romanise_hangul(value: str) -> str:
    """Replaces Hangul syllables by their Unicode names, `강아지` by `gangaji`."""
    syllables = unicodedata.normalize("NFC", value)
    return "".join(
        unicodedata.name(c).rsplit(" ", 1)[1].lower() if "가" <= c <= "힣" else c for c in syllables
    )


def check_file_name(value: str, unicode_names: bool = False, field: str = "file") -> str:
    """The name in NFC, in which it is written; it has no folders. Raises Refused with the character and a corrected
    name. macOS sends the same name in NFD, and a program that opens it by the other form finds nothing.
    """
    value = unicodedata.normalize("NFC", value)
    if value in ("", ".", ".."):
        raise Refused(field, "file.no_name", file=value)
    length = len(value.encode("utf-8", "surrogatepass"))
    for character in value:
        code = _file_problem(character, unicode_names)
        if code:
            raise Refused(
                field,
                code,
                file=shown_text(value),
                repaired=suggest_file_name(value, unicode_names),
                **describe_character(character),
            )
    if length > LONGEST_FILE_NAME:
        raise Refused(field, "file.too_long", file=shown_text(value), bytes=length, most=LONGEST_FILE_NAME)
    return value


def check_file_path(value: str, unicode_names: bool = False, field: str = "file") -> str:
    """A relative path in NFC, each part by the rule for file names. Raises Refused."""
    value = unicodedata.normalize("NFC", value)
    if value.startswith("/"):
        raise Refused(field, "file.absolute", file=shown_text(value))
    if len(value.encode("utf-8", "surrogatepass")) > 4000:
        raise Refused(field, "file.path_too_long", file=shown_text(value), most=4000)
    for part in value.split("/"):
        check_file_name(part, unicode_names, field)
    return value


def suggest_file_name(value: str, unicode_names: bool = False) -> str:
    """The name to offer instead: Hangul becomes Latin, marks are removed, underscores replace the rest."""
    folded = unicodedata.normalize("NFC", value)
    if not unicode_names:
        folded = unicodedata.normalize("NFKD", romanise_hangul(folded))
    kept = "".join("_" if _file_problem(c, unicode_names) else c for c in folded if not _vanishes(c))
    cut = kept.encode("utf-8", "ignore")[:LONGEST_FILE_NAME].decode("utf-8", "ignore")
    return cut if cut.strip("._") else "file"


def _check_name(value: str, field: str, least: int, most: int, letters: frozenset[str] = LETTERS) -> str:
    def offer() -> str:
        repaired = suggest_name(value, most, letters)
        return repaired if len(repaired) >= least else ""

    if not value:
        raise Refused(field, "name.missing", least=least, most=most)
    for position, character in enumerate(value, start=1):
        if character not in letters:
            seen = describe_character(character)
            raise Refused(field, "name.bad_character", position=position, repaired=offer(), **seen)
    if len(value) < least:
        raise Refused(field, "name.too_short", least=least, length=len(value))
    if len(value) > most:
        raise Refused(field, "name.too_long", most=most, length=len(value))
    if value.startswith("-"):
        raise Refused(field, "name.hyphen_first", repaired=offer())
    if value.endswith("-"):
        raise Refused(field, "name.hyphen_last", repaired=offer())
    if "--" in value:
        raise Refused(field, "name.hyphen_doubled", repaired=offer())
    return value


def _file_problem(character: str, unicode_names: bool) -> str | None:
    category = unicodedata.category(character)
    if character == " ":
        return "file.space"
    if character in FORBIDDEN_IN_FILES:
        return "file.bad_character"
    if category in UNSEEN:
        return "file.unseen_character"
    if unicode_names or character.isascii():
        return None
    return "file.hangul" if _is_hangul(character) else "file.not_ascii"


def _is_hangul(character: str) -> bool:
    return "HANGUL" in unicodedata.name(character, "")


def _vanishes(character: str) -> bool:
    """Whether a suggestion drops the character: a separate accent or a zero-width character."""
    return bool(unicodedata.combining(character)) or unicodedata.category(character) == "Cf"


def shown_text(value: str) -> str:
    """Text that is safe to print: unpaired surrogates and control characters are escaped, and it is cut at 120
    characters.
    """
    seen = "".join(c if unicodedata.category(c) not in ("Cc", "Cs") else f"\\u{ord(c):04x}" for c in value)
    return seen if len(seen) <= 120 else seen[:117] + "…"
