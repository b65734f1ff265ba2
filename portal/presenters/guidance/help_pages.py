"""The howtos as pages of the portal, in the reader's language if they are translated, and the search in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from portal.i18n.translate import request_language
from portal.rendering.markdown import MarkdownPage, render_markdown

INSTALLED = Path(__file__).parents[2] / "howto"
"""The folder in the wheel into which setup.py puts the files of docs/howto."""
FOLDER = INSTALLED if INSTALLED.is_dir() else Path(__file__).parents[3] / "docs" / "howto"
"""The howtos of this version: an installed portal has a copy, one that runs from a checkout reads the documentation."""
NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")
FIRST_HOUR = ("first-training", "people", "workspaces", "datasets", "jobs", "nodes")
"""The howtos that a new person needs, in the order in which they are needed."""
OF_ADMINISTRATORS = ("repairs", "backups", "telling-people", "access-log", "monitoring", "upgrades")
"""The howtos for administrators alone."""
EXCERPT_CHARACTERS = 180
MOST_HITS = 20


@dataclass(frozen=True)
class HelpPage:
    """`language` is that of the text: English if there is no translation."""

    name: str
    language: str
    page: MarkdownPage


@dataclass(frozen=True)
class HelpHit:
    """`excerpt` is the paragraph that has the words; empty if the title has them."""

    name: str
    title: str
    excerpt: str


@cache
def help_names() -> tuple[str, ...]:
    """The names of the first hour, then the others in alphabetical order."""
    names = sorted(path.stem for path in FOLDER.glob("*.md") if NAME.fullmatch(path.stem))
    return (*FIRST_HOUR, *(name for name in names if name not in FIRST_HOUR))


def read_help_page(name: str) -> HelpPage:
    """`name` is one of `help_names()`."""
    language = request_language()
    page = render_help_page(name, language)
    if page is not None:
        return HelpPage(name, language, page)
    return read_english_page(name)


def read_english_page(name: str) -> HelpPage:
    page = render_help_page(name, "en")
    assert page is not None
    return HelpPage(name, "en", page)


@cache
def render_help_page(name: str, language: str) -> MarkdownPage | None:
    """The page is rendered once in each process, because the files come with the version."""
    file = FOLDER / (f"{name}.md" if language == "en" else f"{name}.{language}.md")
    return render_markdown(file.read_text(encoding="utf-8"), portal_link) if file.is_file() else None


def portal_link(address: str) -> str | None:
    """The address relative to the page of another howto, or of a place on this page. None if there is no such page."""
    if address.startswith(("https://", "#")):
        return address
    path, _, anchor = address.partition("#")
    name = path.removesuffix(".md")
    if name == path or name not in help_names():
        return None
    return f"{name}#{anchor}" if anchor else name


def search_help(typed: str) -> list[HelpHit]:
    """The pages that have all words, those with them in the title first. Words that no page has in the reader's
    language are looked for in English.
    """
    words = typed.casefold().split()
    if not words:
        return []
    hits = find_in_pages([read_help_page(name) for name in help_names()], words)
    return hits or find_in_pages([read_english_page(name) for name in help_names()], words)


def find_in_pages(pages: list[HelpPage], words: list[str]) -> list[HelpHit]:
    hits = [hit for page in pages if (hit := find_words(page, words))]
    return sorted(hits, key=lambda hit: bool(hit.excerpt))[:MOST_HITS]


def find_words(found: HelpPage, words: list[str]) -> HelpHit | None:
    title = found.page.title
    if all(word in title.casefold() for word in words):
        return HelpHit(found.name, title, "")
    text = " ".join((title, *found.page.paragraphs)).casefold()
    if not all(word in text for word in words):
        return None
    best = max(found.page.paragraphs, key=lambda paragraph: count_words(paragraph, words))
    return HelpHit(found.name, title, shorten(best, words))


def count_words(paragraph: str, words: list[str]) -> int:
    return sum(word in paragraph.casefold() for word in words)


def shorten(paragraph: str, words: list[str]) -> str:
    """The part of the paragraph around the first of the words."""
    places = list(word_places(paragraph, words))
    begin = max(0, min(places, default=0) - EXCERPT_CHARACTERS // 3)
    part = paragraph[begin : begin + EXCERPT_CHARACTERS]
    return f"{'…' if begin else ''}{part}{'…' if begin + EXCERPT_CHARACTERS < len(paragraph) else ''}"


def word_places(paragraph: str, words: list[str]) -> Iterator[int]:
    for word in words:
        place = paragraph.casefold().find(word)
        if place >= 0:
            yield place
