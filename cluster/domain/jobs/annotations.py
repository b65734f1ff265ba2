"""Check what people write down about jobs: tags, notes, names of saved views."""

import re
from collections.abc import Iterable

from cluster.domain.errors import Refused

LONGEST_TAG = 30
MAX_TAGS = 10
"""The most tags of one job."""
LONGEST_NOTE = 500
LONGEST_VIEW_NAME = 40
MAX_VIEWS = 30
"""The most saved views of one person."""
TAG = re.compile(r"[\w][\w.:+-]*")


def parse_tags(text: str) -> list[str]:
    """Splits tags at commas and spaces. Raises Refused for one that is not valid."""
    return check_tags(text.replace(",", " ").split())


def check_tags(tags: Iterable[str]) -> list[str]:
    """The tags in lower case, sorted, each once. Raises Refused."""
    found = sorted({check_tag(tag) for tag in tags})
    if len(found) > MAX_TAGS:
        raise Refused("tags", "job.too_many_tags", most=MAX_TAGS)
    return found


def check_tag(tag: str) -> str:
    tag = tag.lower()
    if len(tag) > LONGEST_TAG or not TAG.fullmatch(tag):
        raise Refused("tags", "job.bad_tag", tag=tag[: LONGEST_TAG + 1], most=LONGEST_TAG)
    return tag


def check_note(text: str) -> str | None:
    """Returns the note on one line; None if it is empty. Raises Refused if it is too long."""
    note = " ".join(text.split())
    if len(note) > LONGEST_NOTE:
        raise Refused("note", "job.note_too_long", most=LONGEST_NOTE, length=len(note))
    return note or None


def check_view_name(text: str) -> str:
    name = " ".join(text.split())
    if not name or len(name) > LONGEST_VIEW_NAME or not name.isprintable():
        raise Refused("name", "view.bad_name", most=LONGEST_VIEW_NAME)
    return name
