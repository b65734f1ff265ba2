"""A page hears of what it shows: each ring for which a part of it waits is among the topics of its stream."""

import re
from pathlib import Path

import pytest

import portal

TEMPLATES = Path(portal.__file__).parent / "templates"
USUAL = {"jobs", "queue", "nodes", "operations"}
"""The topics of a page that names none (portal/layout/page_layout.py)."""
FILE_EVENTS = {"log", "metrics"}
PAGES = sorted(
    str(path.relative_to(TEMPLATES))
    for path in TEMPLATES.rglob("*.html")
    if '{% extends "base.html"' in path.read_text()
)


def read_with_parts(template: str, read: dict[str, str]) -> dict[str, str]:
    """The template and all that it includes, by name."""
    if template not in read:
        read[template] = (TEMPLATES / template).read_text()
        for part in re.findall(r'{%-?\s*(?:include|from)\s+"([\w./-]+\.html)"', read[template]):
            read_with_parts(part, read)
    return read


@pytest.mark.parametrize("page", PAGES)
def test_a_page_subscribes_to_what_its_parts_wait_for(page: str) -> None:
    texts = read_with_parts(page, {})
    named = re.search(r"{% block topics %}(.*?){% endblock %}", texts[page])
    topics = set(re.sub(r"job:{{.*?}}", "", named[1]).split(",")) if named else USUAL
    waited_for = set(re.findall(r"gc:(\w+) from:body", "".join(texts.values()))) - FILE_EVENTS
    assert waited_for <= topics, f"{page} does not subscribe to {sorted(waited_for - topics)}"
