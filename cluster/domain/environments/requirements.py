"""Parse a requirements file that a person has given: packages of an index with their versions, and nothing else.

pip's format also allows options, addresses, paths, repositories and variables. Each of these would let a person choose
what the machine reads or from where it installs, so each is refused by its line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from cluster.domain.errors import Refused

FIELD = "requirements"
MAX_BYTES = 256 * 1024
MAX_LINES = 2000
MAX_LINE = 1000
"""The most characters of one requirement, without its hashes."""
MAX_PACKAGES = 500
SHOWN = 80
"""The number of characters that are shown of a refused line."""
HASH = re.compile(r"--hash=(sha256|sha384|sha512):[0-9a-fA-F]{64,128}")
COMMENT = re.compile(r"(^|\s)#.*$")
REPOSITORY = re.compile(r"(git|hg|bzr|svn)\+", re.IGNORECASE)
ADDRESS = re.compile(r"@|://|^file:", re.IGNORECASE)
PATH = re.compile(r"^[.~]?[/\\]|^\.\.?([/\\]|$)|\.(whl|zip|tar\.\w+|tgz)$", re.IGNORECASE)
OPTIONS = (
    (re.compile(r"^(-e\b|--editable\b)"), "environment.line_editable"),
    (re.compile(r"^(-r|-c|--requirement|--constraint)\b"), "environment.line_other_file"),
    (
        re.compile(
            r"^(-i|-f|--index-url|--extra-index-url|--find-links|--no-index|--trusted-host|--pypi-url)\b"
        ),
        "environment.line_index",
    ),
    (re.compile(r"^-"), "environment.line_option"),
)


@dataclass(frozen=True)
class RequirementLine:
    """One package that is asked for. `line` counts from 1 and is that of the file."""

    line: int
    name: str
    """The name in the form in which indexes compare names."""
    text: str
    hashes: frozenset[str] = frozenset()
    """Each one is `sha256:…`. If the file names any, the package must have one of them."""


def parse_requirements(text: str) -> tuple[RequirementLine, ...]:
    """Raises Refused on `requirements`, naming the first line that is wrong."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Refused(FIELD, "environment.requirements_too_large", most=MAX_BYTES)
    if len(text.splitlines()) > MAX_LINES:
        raise Refused(FIELD, "environment.requirements_too_many_lines", most=MAX_LINES)
    found = tuple(parse_line(number, line) for number, line in logical_lines(text) if line)
    if not found:
        raise Refused(FIELD, "environment.requirements_empty")
    if len(found) > MAX_PACKAGES:
        raise Refused(FIELD, "environment.requirements_too_many", most=MAX_PACKAGES, count=len(found))
    return found


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """(number of its first line, line) without comments. A backslash at its end joins a line with the next one."""
    begun, kept = 0, ""
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        line = COMMENT.sub("", raw)
        begun = begun or number
        if line.rstrip().endswith("\\"):
            kept += line.rstrip()[:-1] + " "
            continue
        yield begun, (kept + line).strip()
        begun, kept = 0, ""
    if kept.strip():
        yield begun, kept.strip()


def parse_line(number: int, line: str) -> RequirementLine:
    wanted = HASH.sub("", line).strip()
    shown = "".join(character if character.isprintable() else "\ufffd" for character in wanted)[:SHOWN]
    if len(wanted) > MAX_LINE:
        raise Refused(FIELD, "environment.line_too_long", line=number, most=MAX_LINE)
    for pattern, code in OPTIONS:
        if pattern.match(wanted):
            raise Refused(FIELD, code, line=number, text=shown)
    if "$" in wanted:
        raise Refused(FIELD, "environment.line_variable", line=number, text=shown)
    if REPOSITORY.search(wanted):
        raise Refused(FIELD, "environment.line_repository", line=number, text=shown)
    before_marker = wanted.partition(";")[0].strip()
    if ADDRESS.search(before_marker):
        raise Refused(FIELD, "environment.line_address", line=number, text=shown)
    if PATH.search(before_marker):
        raise Refused(FIELD, "environment.line_path", line=number, text=shown)
    try:
        parsed = Requirement(wanted)
    except (InvalidRequirement, RecursionError):
        raise Refused(FIELD, "environment.line_unreadable", line=number, text=shown) from None
    if parsed.url:
        raise Refused(FIELD, "environment.line_address", line=number, text=shown)
    hashes = frozenset(found[0].removeprefix("--hash=").lower() for found in HASH.finditer(line))
    return RequirementLine(number, canonicalize_name(parsed.name), wanted, hashes)


def format_requirements(lines: tuple[RequirementLine, ...]) -> str:
    """The text for the resolver: one line for each package, without what the parser has left out."""
    return "".join(f"{line.text}\n" for line in lines)


def line_of(lines: tuple[RequirementLine, ...], package: str) -> RequirementLine | None:
    """The line that asks for a package; None for one that only another package needs."""
    name = canonicalize_name(package)
    return next((line for line in lines if line.name == name), None)


def check_hashes(lines: tuple[RequirementLine, ...], pins: str) -> None:
    """Raises Refused if a line names hashes and the resolved package has none of them. `pins` is what the resolver has
    written.
    """
    found: dict[str, set[str]] = {}
    for _, pin in logical_lines(pins):
        name = canonicalize_name(re.split(r"[=\s\[;]", pin, maxsplit=1)[0])
        found.setdefault(name, set()).update(each[0].removeprefix("--hash=") for each in HASH.finditer(pin))
    for line in lines:
        if line.hashes and line.name in found and not line.hashes & found[line.name]:
            raise Refused(FIELD, "environment.hash_differs", line=line.line, package=line.name)
