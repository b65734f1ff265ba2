"""The terminal's sentences are in the person's language."""

import ast
import string
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from worker.bootstrap.terminal import is_terminal_korean, read_korean_catalogues, terminal_text

SPEAKERS = {"print_sentence", "exit_with_error", "terminal_text", "print_error"}
WORKER = Path(__file__).resolve().parents[4] / "worker"
CATALOGUES = (WORKER / "bootstrap" / "ko.po", WORKER / "console" / "ko.po")
FOLDERS = ("bootstrap", "embedded", "first_training", "console", "commands")


def sentences() -> list[str]:
    """Every sentence that make up, the console and the other commands for a terminal may print."""
    found = []
    for file in [*WORKER.glob("*.py"), *(file for name in FOLDERS for file in (WORKER / name).rglob("*.py"))]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SPEAKERS:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    found.append(first.value)
    return found


def names_in(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_every_sentence_of_make_up_is_said_in_korean() -> None:
    assert not [each for each in sentences() if each not in read_korean_catalogues()]


def test_no_korean_sentence_is_left_without_its_english() -> None:
    assert set(read_korean_catalogues()) <= set(sentences())


def test_the_catalogue_is_read_as_babel_reads_it() -> None:
    known: dict[str, str] = {}
    for catalogue in CATALOGUES:
        with catalogue.open("rb") as file:
            known |= {str(each.id): str(each.string) for each in read_po(file) if each.id}
    assert read_korean_catalogues() == known


@pytest.mark.parametrize("english", sorted(read_korean_catalogues()))
def test_both_languages_tell_the_same_facts(english: str) -> None:
    assert names_in(read_korean_catalogues()[english]) == names_in(english)


@pytest.mark.parametrize(
    ("variables", "korean"),
    [
        ({"LANG": "ko_KR.UTF-8"}, True),
        ({"LANG": "en_US.UTF-8"}, False),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "ko_KR.UTF-8"}, True),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C.UTF-8"}, False),
        ({}, False),
    ],
)
def test_the_terminals_locale_decides(
    variables: dict[str, str], korean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_terminal_korean() is korean
    assert (
        "설치" in terminal_text("Nothing is installed for {clone}. Begin with: make up", clone="/srv/x")
    ) is korean
