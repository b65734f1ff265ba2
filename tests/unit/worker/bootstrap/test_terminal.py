"""The terminal's sentences are in the person's language."""

import ast
import string
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cluster.words.translations import read_messages
from worker.bootstrap.korean import KOREAN
from worker.bootstrap.terminal import is_terminal_korean, terminal_text
from worker.console.prompt import TRANSLATIONS

PRINTS_MUCH = """
from worker.bootstrap.terminal import print_sentence, until_reader_leaves
with until_reader_leaves():
    for _ in range(10_000):
        print_sentence("one line of many")
"""

SPEAKERS = {
    "print_sentence",
    "exit_with_error",
    "terminal_text",
    "print_error",
    "console_text",
    "print_console_text",
    "print_progress",
    "report_build",
    "CollectingFailed",
    "BundleSentence",
}
WORKER = Path(__file__).resolve().parents[4] / "worker"
FOLDERS = ("bootstrap", "bundle", "embedded", "first_training", "commands")
CONSOLE = {message.id: message.string for _, message in read_messages(TRANSLATIONS, "ko")}


def sentences(folders: Sequence[str]) -> list[str]:
    """Every sentence that make up and the other commands for a terminal may print, or the console."""
    found = []
    for file in (file for name in folders for file in (WORKER / name).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in SPEAKERS:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    found.append(first.value)
    return found


def names_in(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_every_sentence_of_make_up_is_said_in_korean() -> None:
    assert not [each for each in sentences(FOLDERS) if each not in KOREAN]


def test_every_sentence_of_the_console_is_said_in_korean() -> None:
    assert not [each for each in sentences(["console"]) if each not in CONSOLE]


def test_no_korean_sentence_is_left_without_its_english() -> None:
    assert set(KOREAN) <= set(sentences(FOLDERS))
    assert set(CONSOLE) <= set(sentences(["console"]))


@pytest.mark.parametrize(("english", "korean"), sorted({*KOREAN.items(), *CONSOLE.items()}))
def test_both_languages_tell_the_same_facts(english: str, korean: str) -> None:
    assert names_in(korean) == names_in(english)


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


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-B", "-c", PRINTS_MUCH],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=WORKER.parent,
        text=True,
    ) as program:
        assert program.stdout is not None and program.stderr is not None
        assert program.stdout.readline() == "one line of many\n"
        program.stdout.close()
        complaint = program.stderr.read()
    assert (program.returncode, complaint) == (0, "")
