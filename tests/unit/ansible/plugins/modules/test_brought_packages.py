"""Roles that are taken off release their own holds of packages, and none of an administrator's."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[5] / "ansible" / "plugins" / "modules" / "brought_packages.py"
OURS = ["nvidia-.*", "doca-ofed", "linux-image-.*"]


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> Any:
    basic: Any = ModuleType("ansible.module_utils.basic")
    basic.AnsibleModule = object
    for name in ("ansible", "ansible.module_utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "ansible.module_utils.basic", basic)
    spec = importlib.util.spec_from_file_location("brought_packages", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("held", "before", "let_go"),
    [
        ("nvidia-open-580\nlinux-image-amd64\nvim\n", set(), ["linux-image-amd64", "nvidia-open-580"]),
        ("nvidia-open-580\nlinux-image-amd64\n", {"linux-image-amd64"}, ["nvidia-open-580"]),
        ("vim\n", set(), []),
    ],
)
def test_what_we_held_is_let_go_and_what_was_held_before_is_not(
    brought: Any, monkeypatch: pytest.MonkeyPatch, held: str, before: set[str], let_go: list[str]
) -> None:
    calls: list[tuple[str, ...]] = []

    def run(*words: str) -> str:
        calls.append(words)
        return held if words == ("apt-mark", "showhold") else ""

    monkeypatch.setattr(brought, "run", run)
    assert brought.release(OURS, before) is bool(let_go)
    assert [call[2:] for call in calls if call[1] == "unhold"] == ([tuple(let_go)] if let_go else [])
