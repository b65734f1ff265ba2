"""Read recorded stanzas of `Packages`: each field names the source that says so, or that it is assumed.

A file begins with `# Source of every field: NAME`, or each field ends with ` ## NAME`. NAME stands in `sources.yml`;
`assumed` needs no entry there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

FOLDER = Path(__file__).resolve().parents[1] / "data" / "vendors"
ASSUMED = "assumed"
WHOLE_FILE = re.compile(r"^# Source of every field: (\S+)$", re.MULTILINE)
FIELD = re.compile(r"^([A-Z][\w-]*): (.*?)(?: +## (\S+))?$")


class UnknownSource(ValueError):
    """A field without a source, or with one that sources.yml does not have."""


@dataclass(frozen=True)
class Field:
    name: str
    value: str
    source: str


@dataclass(frozen=True)
class Stanza:
    """One package of one repository at one version."""

    fields: tuple[Field, ...]

    def __getitem__(self, name: str) -> str:
        return next(field.value for field in self.fields if field.name == name)

    def get(self, name: str) -> str:
        return next((field.value for field in self.fields if field.name == name), "")


def read_sources() -> dict[str, dict[str, str]]:
    """Address, date and what it says, by name."""
    read: dict[str, dict[str, str]] = yaml.safe_load((FOLDER / "sources.yml").read_text())
    return read


@cache
def read_stanzas(name: str) -> tuple[Stanza, ...]:
    """Those of one file, by its name without `.packages`. Raises UnknownSource."""
    return parse_stanzas((FOLDER / f"{name}.packages").read_text(), {*read_sources(), ASSUMED})


def parse_stanzas(text: str, sources: set[str]) -> tuple[Stanza, ...]:
    whole = WHOLE_FILE.search(text)
    blocks = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip().split("\n\n")
    return tuple(Stanza(tuple(_fields(block, whole[1] if whole else "", sources))) for block in blocks)


def _fields(block: str, whole: str, sources: set[str]) -> Iterator[Field]:
    for line in block.splitlines():
        parsed = FIELD.fullmatch(line)
        if parsed is None:
            raise UnknownSource(f"no field: {line}")
        source = parsed[3] or whole
        if source not in sources:
            raise UnknownSource(f"{line}: {source or 'no source'}")
        yield Field(parsed[1], parsed[2], source)


def list_files() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.packages"))
