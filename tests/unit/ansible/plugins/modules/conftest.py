"""Modules of ours as Ansible would load them, without Ansible."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

MODULES = Path(__file__).parents[5] / "ansible" / "plugins" / "modules"


@pytest.fixture
def module(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of ours by its name; what it imports of Ansible is an empty stand-in."""
    basic: Any = ModuleType("ansible.module_utils.basic")
    basic.AnsibleModule = object
    for name in ("ansible", "ansible.module_utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "ansible.module_utils.basic", basic)
    found = importlib.util.spec_from_file_location(request.param, MODULES / f"{request.param}.py")
    assert found is not None and found.loader is not None
    loaded = importlib.util.module_from_spec(found)
    found.loader.exec_module(loaded)
    yield loaded
