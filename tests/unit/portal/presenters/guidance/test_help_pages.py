"""The howtos as pages: all of them in both languages, and no link that leads nowhere."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from flask import Flask

from portal.presenters.guidance import help_pages
from portal.presenters.guidance.help_pages import (
    FOLDER,
    help_names,
    read_help_page,
    render_help_page,
    search_help,
)

HOWTOS = Path(__file__).parents[5] / "docs" / "howto"
CODE = re.compile(r"<code.*?</code>", re.DOTALL)
LINK = re.compile(r'href="([^"#]*)(?:#([^"]*))?"')


def test_a_portal_that_runs_from_a_checkout_reads_the_documentation() -> None:
    """That the wheel of an installed one holds it: tests/unit/ansible/plugins/modules/test_groundcrew_wheel.py."""
    assert FOLDER == HOWTOS
    assert set(help_names()) == {path.name.split(".")[0] for path in HOWTOS.glob("*.md")}


@pytest.mark.parametrize("name", help_names())
def test_every_howto_is_in_both_languages(name: str) -> None:
    english, korean = render_help_page(name, "en"), render_help_page(name, "ko")
    assert english is not None and korean is not None
    assert len(english.headings) == len(korean.headings)
    assert re.search("[가-힣]", korean.title) and not re.search("[가-힣]", CODE.sub("", english.html))


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("name", help_names())
def test_no_link_leads_nowhere(name: str, language: str) -> None:
    """Markdown writes Korean fragments as percents, which a browser reads back."""
    page = render_help_page(name, language)
    for target, anchor in LINK.findall(page.html if page else ""):
        if target.startswith("https://"):
            continue
        assert target in ("", *help_names()), f"{name}: {target}"
        there = render_help_page(target or name, language) or render_help_page(target or name, "en")
        assert there and (not anchor or unquote(anchor) in {heading.anchor for heading in there.headings})


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("name", help_names())
def test_no_mark_is_left_in_the_text(name: str, language: str) -> None:
    """A particle behind the closing star of Korean may keep it from closing."""
    page = render_help_page(name, language)
    text = CODE.sub("", page.html) if page else ""
    assert "**" not in text and not re.search(r"[*`]", re.sub(r"<[^>]*>", "", text)), name


def test_a_page_without_a_translation_is_in_english(
    bare_app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "news.md").write_text("# News\n")
    (tmp_path / "old.md").write_text("# Old\n")
    (tmp_path / "old.ko.md").write_text("# 옛 소식\n")
    monkeypatch.setattr(help_pages, "FOLDER", tmp_path)
    with bare_app.test_request_context(headers={"Accept-Language": "ko"}):
        assert read_help_page("news").language == "en"
        assert read_help_page("old").language == "ko"


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("backups", "backups"),
        ("GROUNDCREW_OUT read only", "first-training"),
        ("nonesuchword", None),
        ("  ", None),
    ],
)
def test_pages_are_found_by_all_their_words(in_request: Flask, typed: str, first: str | None) -> None:
    hits = search_help(typed)
    assert (hits[0].name if hits else None) == first


def test_words_that_are_in_no_korean_page_are_looked_for_in_english(bare_app: Flask) -> None:
    with bare_app.test_request_context(headers={"Accept-Language": "ko"}):
        assert search_help("handwritten digits") and not search_help("nonesuchword")
        assert re.search("[가-힣]", search_help("GROUNDCREW_OUT")[0].title)


def test_an_excerpt_shows_where_the_words_stand(in_request: Flask) -> None:
    hit = next(hit for hit in search_help("handwritten digits") if hit.name == "datasets")
    assert "handwritten digits" in hit.excerpt
