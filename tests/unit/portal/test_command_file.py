"""The command as one file."""

import io
import zipfile

from portal.command_file import build_command_file


def test_the_same_modules_give_the_same_bytes() -> None:
    build_command_file.cache_clear()
    first = build_command_file()
    build_command_file.cache_clear()
    assert build_command_file().content == first.content


def test_it_holds_the_command_and_no_compiled_library() -> None:
    content = build_command_file().content
    assert content.startswith(b"#!/usr/bin/env python3\n")
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert {"__main__.py", "groundcrew_cli/commands/jobs.py", "click/core.py", "yaml/__init__.py"} <= set(
        names
    )
    assert all(name.endswith(".py") for name in names)
