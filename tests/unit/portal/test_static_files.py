"""Static files keep the look together: colours and their contrast, vendored files, icons, and pages without inline
code."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "portal" / "static"
VENDOR = STATIC / "vendor"
TEMPLATES = ROOT / "portal" / "templates"
DOCUMENT = ROOT / "docs" / "developing" / "look.md"
THEMES = ("light", "dark")
HEX = re.compile(r"#[0-9A-F]{6}")


@dataclass(frozen=True)
class Token:
    """One line of the table in look.md; `lowest` by theme, None for mere decoration."""

    name: str
    colours: dict[str, str]
    lowest: dict[str, float | None]
    against: tuple[str, ...]
    at_least: float | None


def read_table() -> dict[str, Token]:
    tokens = {}
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if len(cells) == 8 and HEX.fullmatch(cells[1]):
            name, light, low_light, dark, low_dark, against, at_least, _use = cells
            tokens[name] = Token(
                name,
                {"light": light, "dark": dark},
                {"light": number(low_light), "dark": number(low_dark)},
                tuple(against.split()),
                number(at_least),
            )
    return tokens


def number(cell: str) -> float | None:
    return float(cell) if cell else None


def read_css(theme: str) -> dict[str, str]:
    """Colours of one theme as app.css sets them; the floating shadow is no colour of the table."""
    text = (STATIC / "app.css").read_text(encoding="utf-8")
    block = re.search(rf'\[data-bs-theme="{theme}"\] \{{(.*?)\n\}}', text, re.DOTALL)
    assert block is not None
    pairs = re.findall(r"--gc-([a-z0-9-]+): ([^;]+);", block.group(1))
    return {name: value for name, value in pairs if name != "float"}


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2: 1 to 21."""
    lights = sorted((luminance(one), luminance(other)), reverse=True)
    return (lights[0] + 0.05) / (lights[1] + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


TABLE = read_table()


@pytest.mark.parametrize("theme", THEMES)
def test_the_stylesheet_has_the_colours_of_the_table_and_no_other(theme: str) -> None:
    assert read_css(theme) == {name: token.colours[theme] for name, token in TABLE.items()}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", [name for name, token in TABLE.items() if token.against])
def test_a_colour_is_told_from_its_ground(name: str, theme: str) -> None:
    token = TABLE[name]
    lowest = min(contrast(token.colours[theme], TABLE[ground].colours[theme]) for ground in token.against)
    assert token.lowest[theme] == pytest.approx(lowest, abs=0.051)
    assert token.at_least is not None
    assert lowest >= token.at_least


def test_both_themes_know_the_same_colours() -> None:
    assert read_css("light").keys() == read_css("dark").keys()


def test_every_colour_that_a_stylesheet_names_exists() -> None:
    shared = {"float", "sans", "mono"}
    for sheet in [STATIC / "app.css", *(STATIC / "css").glob("*.css")]:
        named = set(re.findall(r"var\(--gc-([a-z0-9-]+)\)", sheet.read_text(encoding="utf-8")))
        assert named <= TABLE.keys() | shared, sheet.name


def test_vendored_files_are_the_ones_that_were_published() -> None:
    listed = dict(
        reversed(line.split("  ", 1))
        for line in (VENDOR / "MANIFEST.sha256").read_text(encoding="utf-8").splitlines()
    )
    found = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.glob("*-*/*")
    }
    assert found == listed


def test_every_vendored_folder_has_its_licence() -> None:
    folders = [path for path in VENDOR.iterdir() if path.is_dir() and "-" in path.name]
    assert folders
    assert all((folder / "LICENSE").is_file() for folder in folders)


def test_vendored_styles_ask_nothing_of_another_place() -> None:
    """Not even of a file beside them that is not there, as a source map."""
    for path in [
        *VENDOR.rglob("*.css"),
        *VENDOR.rglob("*.js"),
        *STATIC.glob("*.css"),
        *STATIC.glob("css/*.css"),
    ]:
        text = path.read_text(encoding="utf-8")
        assert "sourceMappingURL" not in text, path
        assert not re.findall(r"url\((?!\s*[\"']?data:)|@import", text), path


def test_every_icon_that_a_template_names_is_drawn() -> None:
    drawn = set(re.findall(r'<symbol id="([^"]+)"', (VENDOR / "tabler-icons-3.51.0/sprite.svg").read_text()))
    listed = set((VENDOR / "icons.txt").read_text(encoding="utf-8").split())
    assert drawn == listed
    states = (TEMPLATES / "_macros" / "states.html").read_text(encoding="utf-8")
    named = set(re.findall(r'": "([a-z0-9-]+) (?:is-[a-z]+)?"', states))
    for template in TEMPLATES.rglob("*.html"):
        text = template.read_text(encoding="utf-8")
        named |= set(re.findall(r'\bicon\("([a-z0-9-]+)"', text))
        named |= set(re.findall(r'icon_name="([a-z0-9-]+)"', text))
    navigation = (ROOT / "portal" / "layout" / "navigation.py").read_text(encoding="utf-8")
    of_pages = set(re.findall(r'NavigationItem\("([a-z0-9-]+)"', navigation))
    assert len(of_pages) > 10
    named |= of_pages
    assert named <= drawn, sorted(named - drawn)


@pytest.mark.parametrize("template", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: path.stem)
def test_a_template_has_no_inline_code_or_style(template: Path) -> None:
    """The policy would refuse it in silence."""
    text = re.sub(r"\{([#{%]).*?[#}%]\}", "", template.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"\sstyle\s*=|<style|\son[a-z]+\s*=\s*[\"']|hx-on|javascript:|\bjs:", text)
    for script in re.findall(r"<script\b[^>]*>", text):
        assert "src=" in script or "application/json" in script, script
    assert not re.search(r"(?:src|href|action)=[\"']https?:", text)


@pytest.mark.parametrize("script", sorted((STATIC / "js").glob("*.js")), ids=lambda path: path.stem)
def test_a_script_names_no_other_site_and_makes_no_code(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert not re.search(
        r"https?://|\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write", text
    )


def test_the_vendored_folder_can_be_made_again() -> None:
    """Its script runs; the packages themselves are not at hand in a test."""
    script = VENDOR / "refresh.py"
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "folder" in result.stderr
