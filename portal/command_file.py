"""The `groundcrew` command as one file that any Python runs: its modules, click and PyYAML in a zip archive."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "groundcrew_cli"
SHEBANG = b"#!/usr/bin/env python3\n"
MAIN = f"from {PACKAGE} import main\n\nmain(prog_name='groundcrew')\n".encode()
LIBRARIES = ("click", "yaml")
"""Packages that the command imports besides the standard library. Their modules in Python alone suffice."""
MODE = 0o100644
MADE_AT = (2026, 1, 1, 0, 0, 0)
"""The same modules give the same bytes, whenever the file is built."""


@dataclass(frozen=True)
class CommandFile:
    content: bytes
    sha256: str


@lru_cache(maxsize=1)
def build_command_file() -> CommandFile:
    """Built once in a process: takes about 0.1 s."""
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as archive:
        write_member(archive, "__main__.py", MAIN)
        for name, module in list_modules():
            write_member(archive, name, module.read_bytes())
    content = SHEBANG + text.getvalue()
    return CommandFile(content, hashlib.sha256(content).hexdigest())


def list_modules() -> Iterator[tuple[str, Path]]:
    """The name in the archive and the file of each module, in a fixed order."""
    yield from modules_below(Path(__file__).parent / "cli", PACKAGE)
    for library in LIBRARIES:
        spec = find_spec(library)
        assert spec is not None and spec.origin is not None, library
        yield from modules_below(Path(spec.origin).parent, library)


def modules_below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for file in sorted(folder.rglob("*.py")):
        if file.relative_to(folder).parts[0] != "build":
            yield f"{name}/{file.relative_to(folder).as_posix()}", file


def write_member(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, MADE_AT)
    member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, MODE << 16
    archive.writestr(member, content)
