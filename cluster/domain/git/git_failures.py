"""Decide from git's own words why it failed."""

import re
from typing import Any

from cluster.domain.errors import GroundcrewError, Refused, Unavailable

LONGEST_LINE = 300
CAUSES = (
    ("git.too_large", r"file too large|signal 25|maximum allowed size|pack exceeds|out of memory|malloc, "),
    ("git.redirected", r"returned error: 30\d|redirect"),
    (
        "git.host_key_changed",
        r"host key verification failed|remote host identification has changed|host key for .* has changed",
    ),
    (
        "git.not_authorised",
        r"authentication failed|could not read (username|password)|permission denied \(|"
        r"returned error: 40[13]|access denied|invalid credentials|load key",
    ),
    (
        "git.repository_missing",
        r"repository .*not found|repository not found|returned error: 404|"
        r"does not appear to be a git repository|project you were looking for could not be found",
    ),
    ("git.certificate", r"certificate|self.signed"),
    (
        "git.reference_missing",
        r"couldn't find remote ref|not our ref|no such ref|unadvertised object|remote ref .* not found",
    ),
    ("git.too_slow", r"operation too slow|operation timed out"),
    (
        "git.unreachable",
        r"connection (refused|reset|timed out|closed)|failed to connect|couldn't connect|network is unreachable|"
        r"no route to host|gnutls|ssl|could not resolve|timed out|empty reply|hung up unexpectedly|early eof|"
        r"could not read from remote repository",
    ),
    (
        "git.unsafe_repository",
        r"fsck error|error in object|hasdot|badly formed|bad object|malformed|corrupt|"
        r"inflate|unresolved deltas|protocol error|bad line length|bad band|invalid server response",
    ),
    # Git says nothing else if the limit of file sizes has ended the program that writes the pack.
    ("git.too_large", r"index-pack (output|failed)"),
)
"""Each code, and words of git, curl or ssh in lower case. The first code whose words occur counts."""
OUTSIDE = ("git.unreachable", "git.too_slow")
TOLD_BY_SERVER = "remote:"
"""Git's mark of a line whose rest the server has chosen."""


def explain_git_failure(words: str, **data: Any) -> GroundcrewError:
    """`words` are what git has written to its stderr, in English and without secrets.

    The server's own lines are left out, because it could write anything there.
    """
    lines = [clean_line(line) for line in words.replace("\r", "\n").splitlines()]
    lines = [line for line in lines if line and not line.startswith(TOLD_BY_SERVER)]
    text = "\n".join(lines).lower()
    for code, pattern in CAUSES:
        if re.search(pattern, text):
            return Unavailable(code, **data) if code in OUTSIDE else Refused("url", code, **data)
    return Refused("url", "git.failed", **data, line=lines[-1] if lines else "?")


def clean_line(line: str) -> str:
    """Replaces control characters, so that a log or a terminal shows the line as text."""
    return "".join(sign if sign.isprintable() else " " for sign in line).strip()[:LONGEST_LINE]
