"""More components of the archives that a host has: a pure function of apt's own list of them and of its files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

ONE_LINE = re.compile(
    r"^deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)$"
)
FIELD = re.compile(r"^([A-Za-z][\w-]*):[ \t]*(.*(?:\n[ \t]+.*)*)$", re.MULTILINE)


def sources_with(files: Mapping[str, str], known: Sequence[str], components: Sequence[str]) -> str:
    """Sources in apt's newer form that add `components` to the archives with main that lack one; empty: none lacks any.

    `files` are texts of apt's sources by their paths, `known` lines of `apt-get indextargets`: address, suite,
    component. Keys and other options of each archive are kept, as apt refuses two that differ.
    """
    have: dict[tuple[str, str], set[str]] = {}
    for line in known:
        uri, suite, component = line.split()[:3]
        have.setdefault((uri.rstrip("/"), suite), set()).add(component)
    lacking = {each for each, theirs in have.items() if "main" in theirs and not theirs >= set(components)}
    stanzas = [
        stanza
        for path, text in files.items()
        for stanza in (of_sources(text) if path.endswith(".sources") else of_list(text))
    ]
    return "\n".join(filter(None, (with_components(stanza, lacking, components) for stanza in stanzas)))


def of_sources(text: str) -> list[dict[str, str]]:
    plain = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    return [dict(FIELD.findall(block)) for block in re.split(r"\n\s*\n", plain) if block.strip()]


def of_list(text: str) -> list[dict[str, str]]:
    found = []
    for line in text.splitlines():
        parsed = ONE_LINE.match(line.strip())
        if parsed:
            options = dict(each.partition("=")[::2] for each in (parsed["options"] or "").split())
            own = {NAMES[name]: value for name, value in options.items() if name in NAMES}
            found.append(
                {"Types": "deb", "URIs": parsed["uri"], "Suites": parsed["suite"], "Components": "main"} | own
            )
    return found


NAMES = {"signed-by": "Signed-By", "arch": "Architectures", "trusted": "Trusted"}
"""Options of the one-line form, and their fields in the other."""


def with_components(
    stanza: Mapping[str, str], lacking: set[tuple[str, str]], components: Sequence[str]
) -> str:
    fields = {name.lower(): value for name, value in stanza.items()}
    uris, suites = fields.get("uris", "").split(), fields.get("suites", "").split()
    wanted = [suite for suite in suites if any((uri.rstrip("/"), suite) in lacking for uri in uris)]
    if (
        not wanted
        or "main" not in fields.get("components", "").split()
        or "deb" not in fields["types"].split()
    ):
        return ""
    changed = {"types": "deb", "suites": " ".join(wanted), "components": " ".join(components)}
    return "".join(f"{name}: {changed.get(name.lower(), value)}\n" for name, value in stanza.items())


class FilterModule:
    """The names under which playbooks call them."""

    def filters(self) -> dict[str, Any]:
        return {"sources_with": sources_with}
