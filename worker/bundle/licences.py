"""Recognise the licence of a Go module, a Debian package or a wheel from its own files."""

import re
from collections.abc import Iterable
from email.parser import Parser
from pathlib import Path

UNKNOWN = "unknown"
SIGNS: tuple[tuple[str, str], ...] = (
    # The more specific pattern is first, because the other text often contains it.
    ("Apache-2.0", r"apache license,?\s+version 2\.0"),
    ("MPL-2.0", r"mozilla public license,?\s+(version|v\.) ?2\.0"),
    ("AGPL-3.0", r"gnu affero general public license"),
    ("LGPL", r"gnu lesser general public license"),
    ("GPL", r"gnu general public license"),
    ("ISC", r"permission to use, copy, modify, and(/or)? distribute this software for any purpose"),
    ("MIT", r"permission is hereby granted, free of charge, to any person obtaining"),
    ("BSD-3-Clause", r"redistribution and use in source and binary forms.*neither the names? of"),
    ("BSD-2-Clause", r"redistribution and use in source and binary forms"),
    ("PSF-2.0", r"python software foundation license version 2"),
    ("Unlicense", r"this is free and unencumbered software"),
    ("CC0-1.0", r"cc0 1\.0 universal"),
)
NAMES = re.compile(r"^(LICEN[CS]E|COPYING|NOTICE\.licen[cs]e)([.\-].*)?$", re.IGNORECASE)


def recognise_licence(text: str) -> str:
    """The SPDX name of the licence that this text is. `UNKNOWN` if it is not recognised."""
    plain = " ".join(text.lower().split())
    return next((name for name, sign in SIGNS if re.search(sign, plain)), UNKNOWN)


def list_licence_files(folder: Path) -> list[Path]:
    """The licence files in the root folder of a Go module."""
    return sorted(file for file in folder.iterdir() if file.is_file() and NAMES.match(file.name))


def licence_of_folder(folder: Path) -> str:
    found = [recognise_licence(file.read_text(errors="replace")) for file in list_licence_files(folder)]
    return join_licences(name for name in found if name != UNKNOWN)


def licence_of_copyright(text: str) -> str:
    """The licence in a debian/copyright: Debian's short names if it is machine-readable, else the recognised text."""
    if not re.search(r"^Format(-Specification)?:", text[:2000], re.MULTILINE):
        return recognise_licence(text)
    names = [name.strip() for name in re.findall(r"^License:([^\n]*)", text, re.MULTILINE)]
    return join_licences(part for name in names if name for part in re.split(r",? and (?!/)|,? or ", name))


def licence_of_wheel_metadata(metadata: str) -> str:
    """The licence in a wheel's METADATA: its SPDX expression, else its classifiers, else the first line of its free
    text.
    """
    read = Parser().parsestr(metadata, headersonly=True)
    if expression := read.get("License-Expression"):
        return str(expression)
    classified = [
        each.split(" :: ")[-1]
        for each in read.get_all("Classifier", [])
        if each.startswith("License :: ") and not each.endswith(":: OSI Approved")
    ]
    if classified:
        return join_licences(classified)
    free = str(read.get("License") or "").strip()
    if not free or free.upper() == "UNKNOWN":
        return UNKNOWN
    return free if "\n" not in free and len(free) < 60 else recognise_licence(free)


def join_licences(names: Iterable[str]) -> str:
    parts = {part for name in names for part in name.split(" AND ")}
    return " AND ".join(sorted(parts)) or UNKNOWN
