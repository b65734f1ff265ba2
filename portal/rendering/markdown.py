"""Renders our own Markdown as HTML for the portal's pages: no raw HTML, no inline style, links to other howtos."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

NOT_IN_AN_ANCHOR = re.compile(r"[^\w\- ]")


@dataclass(frozen=True)
class Heading:
    """`anchor` is the part after the # in a link to it, as GitHub makes it."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class MarkdownPage:
    """`title` is its first heading, which is not part of `html`; `paragraphs` are its texts without marks."""

    title: str
    html: Markup
    headings: tuple[Heading, ...]
    paragraphs: tuple[str, ...]


def render_markdown(text: str, link: Callable[[str], str | None]) -> MarkdownPage:
    """`link` says where an address of a link leads on the portal; for None its words are written without a link."""
    tokens = parser().parse(text)
    headings = tuple(name_headings(tokens))
    for token in tokens:
        point_links(token.children or [], link)
    title = next((heading.text for heading in headings if heading.level == 1), "")
    body = without_title(tokens)
    return MarkdownPage(
        title,
        Markup(parser().renderer.render(body, parser().options, {})),
        tuple(heading for heading in headings if heading.level > 1),
        tuple(plain_text(token) for token in body if token.type == "inline"),
    )


@cache
def parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("table_open", open_table)
    markdown.add_render_rule("table_close", close_table)
    for cell in ("th_open", "td_open"):
        markdown.add_render_rule(cell, open_cell)
    return markdown


def open_table(
    _renderer: object, _tokens: Sequence[Token], _index: int, _options: object, _env: object
) -> str:
    """Opens a table in a region of its own, which scrolls on a narrow page."""
    return '<div class="table-region" tabindex="0"><table class="lines">'


def close_table(
    _renderer: object, _tokens: Sequence[Token], _index: int, _options: object, _env: object
) -> str:
    return "</table></div>"


def open_cell(_renderer: object, tokens: Sequence[Token], index: int, _options: object, _env: object) -> str:
    """Opens a cell without the alignment, which would be an inline style."""
    return f"<{tokens[index].tag}>"


def name_headings(tokens: Sequence[Token]) -> list[Heading]:
    """Gives each heading its anchor."""
    headings = []
    for opening, inline in zip(tokens, tokens[1:], strict=False):
        if opening.type == "heading_open":
            text = plain_text(inline)
            anchor = NOT_IN_AN_ANCHOR.sub("", text.lower()).replace(" ", "-")
            opening.attrSet("id", anchor)
            headings.append(Heading(int(opening.tag[1:]), text, anchor))
    return headings


def point_links(children: list[Token], link: Callable[[str], str | None]) -> None:
    """Rewrites the addresses of links; one that leads nowhere becomes plain text."""
    hidden = False
    for token in children:
        if token.type == "link_open":
            href = link(str(token.attrGet("href") or ""))
            hidden = href is None
            token.attrSet("href", href or "")
        if token.type in ("link_open", "link_close") and hidden:
            token.type, token.tag, token.nesting, token.content = "text", "", 0, ""


def plain_text(inline: Token) -> str:
    words: list[Any] = [
        " " if child.type in ("softbreak", "hardbreak") else child.content for child in inline.children or []
    ]
    return "".join(words)


def without_title(tokens: Sequence[Token]) -> list[Token]:
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        return list(tokens[3:])
    return list(tokens)
