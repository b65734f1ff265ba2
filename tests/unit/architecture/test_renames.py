"""The page of renames holds every public name that changed, and no other."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import click
import pytest

from cluster.domain.repairs.definition import Repair
from cluster.event_bus import NullEventBus
from cluster.portal_paths import STREAM
from cluster.services.context import Cluster
from cluster.store.engine import Store
from portal import create_app
from portal.live.service import LOG_ROUTE
from tests.conftest import settings_for
from worker.__main__ import FOR_A_PERSON, SERVICES
from worker.commands import admin, repair_commands
from worker.executors.contract import Executor
from worker.kubernetes.api_client import KubernetesApi
from worker.repairs.broker_protocol import BrokerRequest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/developing/renames.md"
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|$", re.M)
RUN_BY_NAME = re.compile(r"^if __name__ == \"__main__\":", re.M)


def addresses() -> set[str]:
    """Method and rule of each route, of the portal and of portal/live; building the portal reads no row."""
    url = "sqlite:////nowhere/groundcrew.db"
    app = create_app(Cluster(Store(url), NullEventBus(), settings_for(url, Path("/nowhere"))), testing=True)
    pages = {
        f"{method} {rule.rule}"
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    return pages | {f"GET {route}" for route in (STREAM, LOG_ROUTE)}


def settings() -> set[str]:
    """As documented; test_settings.py compares the page with the code."""
    return set(re.findall(r"^\| `(GROUNDCREW_[A-Z_]+)`", (ROOT / "docs/topic/settings.md").read_text(), re.M))


def commands(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[str]:
    """Each command with all its options."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        else:
            options = sorted(option for each in command.params for option in each.opts)
            yield " ".join((*before, name, *options))


def modules_run_by_name(*packages: str) -> set[str]:
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        for package in packages
        for file in (ROOT / package).rglob("*.py")
        if file.name == "__main__.py" or RUN_BY_NAME.search(file.read_text())
    }


def outside_calls() -> set[str]:
    """Failpoints around calls to the outside: those of a whole object have its methods' names."""
    sources = [file.read_text() for name in ("cluster", "worker") for file in (ROOT / name).rglob("*.py")]
    named = set(re.findall(r"external_call\(\"([a-z_.]+)\"\)", "\n".join(sources)))
    wrapped = {"executor": Executor, "kubernetes": KubernetesApi}
    return named | {f"{name}.{method}" for name, thing in wrapped.items() for method in vars(thing)}


def broker_words() -> set[str]:
    repair = cast(Repair, SimpleNamespace(name="restart-portal"))
    return set(BrokerRequest("1", repair, (), ()).to_data())


def make_targets() -> set[str]:
    found = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)
    return set(found[1].split()) if found else set()


def make_variables_and_verbs() -> set[str]:
    """Variables that `make` asks for, and the verb of `groundcrew-appliance` that is no entry of its table."""
    makefile = (ROOT / "Makefile").read_text()
    own = set(re.findall(r"^([A-Z]+) :?= ", makefile, re.M)) | {"MAKEFILE_LIST"}
    verbs = re.findall(r'verbs\.add_parser\("([a-z-]+)"', (ROOT / "worker/commands/admin.py").read_text())
    return set(re.findall(r"\$\(([A-Z_]+)\)", makefile)) - own | set(verbs)


PUBLIC: dict[str, Callable[[], set[str]]] = {
    "addresses": addresses,
    "settings": settings,
    "commands of groundcrew": lambda: set(commands(import_module("portal.cli.main").main)),
    "commands of worker": lambda: {*SERVICES, *FOR_A_PERSON},
    "verbs of worker appliance and upkeep": lambda: {*admin.COMMANDS, *repair_commands.COMMANDS},
    "repairs": lambda: {file.stem for file in (ROOT / "ansible/repairs").glob("*.yml")},
    "keys of repairs": lambda: {*Repair.__dataclass_fields__, "korean"} - {"name", "tasks"},
    "words of the broker": broker_words,
    "make targets": make_targets,
    "variables of make and verbs for a person": make_variables_and_verbs,
    "scripts": lambda: set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]),
    "modules run by name": lambda: modules_run_by_name("cluster", "portal", "worker"),
}
HEADLINES = {
    "addresses": "Addresses of pages and REST",
    "settings": "Settings",
    "commands of groundcrew": "Arguments of groundcrew",
    "variables of make and verbs for a person": "Variables and verbs",
    "keys of repairs": "Keys of a repair's YAML file",
    "words of the broker": "Words of a request to the repair broker",
    "modules run by name": "Modules run by name",
}
"""Where the page has what changed; the other kinds stand in "Commands"."""


def renames_under(headline: str) -> dict[str, str]:
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.M)
    (section,) = (each for each in sections if each.startswith(f"{headline}\n"))
    return dict(ROW.findall(section))


def test_every_kind_of_public_name_is_recorded() -> None:
    assert set(recorded_names()) == set(PUBLIC)


def recorded_names() -> dict[str, list[str]]:
    names: dict[str, list[str]] = json.loads((ROOT / "tests/data/public_names.json").read_text())
    return names


@pytest.mark.parametrize("kind", PUBLIC)
def test_a_recorded_name_is_there_or_the_page_says_what_it_became(kind: str) -> None:
    current, recorded = PUBLIC[kind](), set(recorded_names()[kind])
    renames = renames_under(HEADLINES.get(kind, "Commands"))
    assert recorded, kind
    assert recorded - current == set(renames)
    assert set(renames.values()) <= current


def test_modules_of_tests_have_the_names_that_the_page_says() -> None:
    current, renames = modules_run_by_name("tests"), renames_under("Modules of tests run by name")
    assert renames
    assert set(renames.values()) <= current
    assert not set(renames) & current


def test_failpoints_have_the_names_that_the_page_says() -> None:
    current, renames = outside_calls(), renames_under("Failpoints")
    assert renames
    assert set(renames.values()) <= current
    assert not set(renames) & current


def test_the_page_tells_of_no_table_that_is_held_by_no_test() -> None:
    held = [*HEADLINES.values(), "Commands", "Modules of tests run by name", "Failpoints"]
    found = re.findall(r"^## (.*)$", PAGE.read_text(), re.M)
    assert sorted(held) == sorted(found)
