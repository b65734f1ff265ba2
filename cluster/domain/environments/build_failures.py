"""Decide from uv's own words why packages could not be resolved or installed, and name the line that asked for them."""

import re
from typing import Any

from cluster.domain.environments.requirements import RequirementLine, line_of

LONGEST = 300
NAME = r"(?<![A-Za-z0-9._-])`?([A-Za-z0-9][A-Za-z0-9._-]{0,100})"
"""The pattern is tried once in each word, because build scripts may write any text into uv's output."""
CAUSES = (
    (
        "environment.package_missing",
        rf"{NAME} was not found in the (?:package registry|cache)|{NAME} was not found in the provided package",
    ),
    ("environment.needs_source", rf"Because {NAME}\S{{0,100}} has no (?:usable )?wheels"),
    ("environment.no_wheel_here", rf"Because {NAME}\S{{0,100}} has no wheels with a matching"),
    ("environment.version_missing", rf"there is no version of {NAME}|Because only {NAME}"),
    ("environment.source_build_failed", rf"Failed to (?:build|download and build) {NAME}"),
    ("environment.package_refused", rf"Hash mismatch for {NAME}"),
)
"""Codes, each with a pattern of uv's message that names the package. The first pattern that matches decides."""
OUTSIDE = (
    ("environment.no_space", r"no space left on device|disk quota exceeded|file too large"),
    ("environment.no_memory", r"cannot allocate memory|memory allocation of|out of memory"),
    (
        "environment.no_network",
        r"error sending request|dns error|failed to (?:connect|lookup)|connection (?:refused|reset)|timed out|"
        r"network is unreachable|certificate|network connectivity is disabled|failed to fetch|tls handshake",
    ),
)


def explain_build_failure(
    words: str, lines: tuple[RequirementLine, ...], exit_code: int
) -> tuple[str, dict[str, Any]]:
    """Returns (code, data). `words` is the output of uv, in English. `exit_code` is negative if a signal ended uv."""
    text = re.sub(r"\s+", " ", words)
    for code, pattern in CAUSES:
        if found := re.search(pattern, text):
            package = next(name for name in found.groups() if name).split("==")[0].rstrip(".")
            asked = line_of(lines, package)
            data = {"package": package, "said": said(words)}
            return code, data | ({"line": asked.line, "text": asked.text[:LONGEST]} if asked else {})
    for code, pattern in OUTSIDE:
        if found := re.search(pattern, text, re.IGNORECASE):
            return code, {"line": line_around(words, found[0])}
    if "No solution found" in text:
        return "environment.no_solution", {"said": said(words)}
    return "environment.step_failed", {"command": "uv", "exit_code": exit_code, "line": said(words)}


def said(words: str) -> str:
    """uv's own explanation, shortened."""
    match = re.search(r"(?:cause: |╰─▶ |Caused by: )?(Because .*)", words, re.DOTALL)
    text = match[1] if match else next((line for line in reversed(words.splitlines()) if line.strip()), "")
    return re.sub(r"[\s│╰─▶]+", " ", text).partition(" hint:")[0].strip()[:LONGEST]


def line_around(words: str, part: str) -> str:
    found = next((line for line in words.splitlines() if part.lower() in line.lower()), part)
    return found.strip()[:LONGEST]
