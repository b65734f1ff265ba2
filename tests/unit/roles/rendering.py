"""Renders a role's templates and variables as Ansible would, with the product's own defaults and sources map."""

import base64
import hashlib
import importlib.util
import json
import re
import shlex
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined
from jinja2.nativetypes import NativeEnvironment, NativeTemplate
from jinja2.runtime import Context

ROOT = Path(__file__).parents[3]


def whole(parts: Iterable[Any]) -> Any:
    """One expression keeps its type, and text beside it makes a string; a string is never read as a number."""
    found = list(parts)
    return found[0] if len(found) == 1 else "".join(str(part) for part in found)


class Values(NativeEnvironment):
    """For variables: as Ansible's own templates since 2.19."""

    concat = staticmethod(whole)  # type: ignore[assignment]


class ValueTemplate(NativeTemplate):
    environment_class = Values


Values.template_class = ValueTemplate


class Lazy(Context):
    """A variable may hold a template; it is rendered where it is asked for, and what it asks for in turn."""

    def resolve_or_missing(self, key: str) -> Any:
        return rendered(super().resolve_or_missing(key), dict(self.parent))


def rendered(value: Any, known: dict[str, Any]) -> Any:
    if isinstance(value, str) and "{" in value and ("{{" in value or "{%" in value):
        return environment(Values).from_string(value.strip()).render(known)
    if isinstance(value, dict):
        return {name: rendered(each, known) for name, each in value.items()}
    if isinstance(value, list):
        return [rendered(each, known) for each in value]
    return value


def is_version(found: Any, wanted: str, operator: str) -> bool:
    """Ansible's test of the same name, for the operators that the roles use."""
    ours, theirs = ([int(part) for part in re.findall(r"\d+", str(each))] for each in (found, wanted))
    return {">=": ours >= theirs, "<": ours < theirs, "==": ours == theirs}[operator]


def regex_search(value: str, pattern: str) -> str:
    found = re.search(pattern, value)
    return found[0] if found else ""


FILTERS = ROOT / "ansible" / "plugins" / "filter"


def own_filters() -> dict[str, Any]:
    """The installer's own, loaded by their paths as Ansible does."""
    found: dict[str, Any] = {}
    for path in sorted(FILTERS.glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= module.FilterModule().filters()
    return found


def items2dict(
    value: list[dict[str, Any]], key_name: str = "key", value_name: str = "value"
) -> dict[str, Any]:
    return {each[key_name]: each[value_name] for each in value}


def flatten(value: Iterable[Any]) -> list[Any]:
    return [part for each in value for part in (flatten(each) if isinstance(each, list) else [each])]


@cache
def environment(kind: type[Environment]) -> Environment:
    made = kind(undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    made.context_class = Lazy
    made.tests["version"] = is_version
    made.filters["combine"] = lambda value, more: value | more
    made.filters["regex_replace"] = lambda value, pattern, by="": re.sub(pattern, by, value)
    made.filters["regex_search"] = regex_search
    made.filters["regex_findall"] = lambda value, pattern: re.findall(pattern, value)
    made.filters["quote"] = shlex.quote
    made.filters["to_json"] = json.dumps
    made.filters["from_json"] = json.loads
    made.filters["bool"] = lambda value: str(value).lower() in ("true", "yes", "1")
    made.filters["b64decode"] = lambda value: base64.b64decode(value).decode()
    made.filters["b64encode"] = lambda value: base64.b64encode(value.encode()).decode()
    made.filters["hash"] = lambda value, kind: hashlib.new(kind, value.encode()).hexdigest()
    made.filters["difference"] = lambda value, more: [each for each in value if each not in more]
    made.filters["intersect"] = lambda value, more: [each for each in value if each in more]
    made.filters["dict2items"] = lambda value: [{"key": name, "value": each} for name, each in value.items()]
    made.filters["items2dict"] = items2dict
    made.filters["flatten"] = flatten
    made.filters.update(own_filters())
    made.filters["extract"] = lambda key, container: container[key]
    return made


def read(path: str) -> dict[str, Any]:
    file = ROOT / path
    return (yaml.safe_load(file.read_text()) or {}) if file.exists() else {}


def variables(role: str, **given: Any) -> dict[str, Any]:
    """What the role knows on the only host, where the inventory says nothing but `given`."""
    known: dict[str, Any] = {"groups": {name: ["m"] for name in ("groundcrew", "master", "worker")}}
    for path in (
        f"roles/{role}/defaults/main.yml",
        "inventory/group_vars/all/sources.yml",
        "inventory/group_vars/all/cluster.yml",
        f"roles/{role}/vars/main.yml",
    ):
        known |= read(path)
    return known | given


def value_of(role: str, name: str, **given: Any) -> Any:
    known = variables(role, **given)
    return rendered(known[name], known)


def render(role: str, template: str, **given: Any) -> str:
    text = (ROOT / "roles" / role / "templates" / f"{template}.j2").read_text()
    return environment(Environment).from_string(text).render(variables(role, **given))
