"""Collects what the catalogues translate, and which English stands outside of `cluster.words`."""

from collections.abc import Iterator
from pathlib import Path

from babel.messages.extract import extract_from_dir

from cluster import words
from cluster.words.translations import read_messages
from portal.cli.messages import KOREAN as KOREAN_OF_COMMAND
from portal.i18n.translate import TRANSLATIONS as PAGES
from worker.bootstrap.korean import KOREAN as KOREAN_OF_TERMINAL
from worker.console.prompt import TRANSLATIONS as CONSOLE

ROOT = Path(__file__).parents[2]
METHODS = [("static/**", "ignore"), ("cli/**", "ignore"), ("**.py", "python"), ("**.html", "jinja2")]
KEYWORDS = {
    "_": None,
    "gettext": None,
    "ngettext": (1, 2),
    "N_": None,
    "terminal_text": None,
    "print_sentence": None,
    "console_text": None,
    "print_console_text": None,
}


def list_korean_texts() -> Iterator[tuple[str, str, str]]:
    """Where it stands, English, Korean: of every catalogue, and of the two tables that need no package."""
    for folder in (Path(words.__file__).parent, PAGES, CONSOLE):
        for path, message in read_messages(folder, "ko"):
            texts = [message.string] if isinstance(message.string, str) else message.string
            for english in [message.id] if isinstance(message.id, str) else message.id:
                yield path.name, english, texts[0]
    for name, table in (("terminal", KOREAN_OF_TERMINAL), ("command", KOREAN_OF_COMMAND)):
        for english, korean in table.items():
            yield name, english, korean


def list_outside_english() -> Iterator[tuple[str, str]]:
    """Where it stands and the text: what pages, the console and commands for a terminal say in words of their own."""
    for package in ("portal", "worker"):
        for name, line, message, _comments, _context in extract_from_dir(
            ROOT / package, METHODS, {}, KEYWORDS, directory_filter=lambda _folder: True
        ):
            yield f"{package}/{name}:{line}", message if isinstance(message, str) else message[0]
