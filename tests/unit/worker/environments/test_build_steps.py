"""Each code that a build can end with, each step and each purpose has its words in both languages."""

import ast
from pathlib import Path

import pytest

from cluster.words import LANGUAGES, has_words, hint, sentence, step_name, word
from worker.environments.build_steps import BuildStep
from worker.environments.description import read_environment_description

PACKAGE = Path(__file__).parents[4] / "worker" / "environments"
CODES = sorted(
    {
        node.value
        for path in PACKAGE.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("environment.")
        and node.value != "environment.toml"
    }
)


def test_the_codes_were_found() -> None:
    assert {"environment.no_network", "environment.tools_missing", "environment.no_space"} <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_each_trouble_is_said_with_its_way_out(code: str) -> None:
    assert has_words(code)
    assert len({sentence(code, {}, language) for language in LANGUAGES}) == len(LANGUAGES)
    assert len({hint(code, {}, language) for language in LANGUAGES}) == len(LANGUAGES)


@pytest.mark.parametrize("purpose", sorted(set(read_environment_description().purposes.values())))
def test_each_purpose_is_said(purpose: str) -> None:
    assert has_words(purpose)
    assert word(*purpose.split("."), "ko") != word(*purpose.split("."), "en") != purpose


@pytest.mark.parametrize("code", BuildStep)
def test_each_step_has_a_name(code: BuildStep) -> None:
    assert step_name(code, "en") not in (code, step_name(code, "ko"))


def test_how_much_room_is_needed_is_said() -> None:
    data = {"needed": 3_500_000_000, "free": 1_000_000_000, "path": "/var/cache"}
    assert sentence("environment.no_space", data, "en").startswith("3.3 GiB are needed")
    assert "/var/cache" in sentence("environment.no_space", {**data, "needed": None}, "ko")
