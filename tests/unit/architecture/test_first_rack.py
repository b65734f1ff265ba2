"""Each place where the first rack would have failed has a test that is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NAMED = re.compile(r"`(tests/[\w/]+[.]py)::(test_\w+)`")


def test_every_named_test_is_there() -> None:
    rows = [
        line
        for line in (ROOT / "docs/measurements/first-rack.md").read_text().splitlines()
        if re.match(r"\| \d+ \|", line)
    ]
    named = [NAMED.search(row) for row in rows]
    assert len(rows) > 20 and all(named)
    missing = [
        found.group()
        for found in named
        if found and f"\ndef {found[2]}(" not in (ROOT / found[1]).read_text()
    ]
    assert missing == []
