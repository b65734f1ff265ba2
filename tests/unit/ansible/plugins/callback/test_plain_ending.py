"""A failed run of site.yml ends with cause, remedy, and the command that goes on."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[5]
COMMAND = "ansible-playbook -i inventory/mine.yml site.yml"


class Base:
    def __init__(self) -> None:
        self.said: list[str] = []
        self._display = SimpleNamespace(display=self.said.append)


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    stubs: dict[str, Any] = {
        "ansible": SimpleNamespace(),
        "ansible.plugins": SimpleNamespace(),
        "ansible.plugins.callback": SimpleNamespace(CallbackBase=Base),
    }
    for name, module in stubs.items():
        monkeypatch.setitem(sys.modules, name, module)
    path = ROOT / "ansible/plugins/callback/plain_ending.py"
    spec = importlib.util.spec_from_file_location("plain_ending", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["/opt/ansible/bin/ansible-playbook", *COMMAND.split()[1:]])
    return module


def outcome(host: str, action: str, result: dict[str, Any], **variables: str) -> Any:
    task = SimpleNamespace(action=action, vars=variables, get_name=lambda: "redis : Have Redis")
    return SimpleNamespace(host=SimpleNamespace(get_name=lambda: host), task=task, result=result)


def ended(plugin: ModuleType, *outcomes: Any, is_well: bool = False) -> str:
    callback = plugin.CallbackModule()
    for each in outcomes:
        callback.v2_runner_on_failed(each)
    callback.v2_playbook_on_stats(SimpleNamespace(failures={} if is_well else {"one": 1}, dark={}))
    return "\n".join(callback.said)


def test_the_cause_a_remedy_and_the_command_that_goes_on_are_said(plugin: ModuleType) -> None:
    said = ended(plugin, outcome("one", "present_packages", {"msg": "apt-get ended with 100"}))
    assert "one: redis : Have Redis\n    apt-get ended with 100\n    remedy: Type on that host" in said
    assert said.endswith(f"    {COMMAND}")


def test_the_same_trouble_of_several_hosts_is_said_once(plugin: ModuleType) -> None:
    said = ended(plugin, *(outcome(host, "apt", {"msg": "no package"}) for host in ("one", "two")))
    assert said.count("no package") == 1 and "one, two: redis" in said


def test_a_refusal_says_itself_what_to_do(plugin: ModuleType) -> None:
    said = ended(plugin, outcome("one", "ansible.builtin.assert", {"msg": "Remove it."}))
    assert "Remove it." in said and "remedy" not in said


def test_a_tasks_own_remedy_comes_before_the_modules(plugin: ModuleType) -> None:
    failed = outcome(
        "one", "ansible.builtin.command", {"msg": "rc 1", "stderr": "boom"}, redis_remedy="Look."
    )
    said = ended(plugin, failed)
    assert "rc 1\n    boom\n    remedy: Look." in said


def test_a_loop_tells_of_the_items_that_failed(plugin: ModuleType) -> None:
    items = [{"msg": "went well"}, {"failed": True, "msg": "went wrong"}]
    said = ended(plugin, outcome("one", "command", {"msg": "items failed", "results": items}))
    assert "went wrong" in said and "went well" not in said


def test_what_holds_secrets_stays_hidden(plugin: ModuleType) -> None:
    said = ended(plugin, outcome("one", "command", {"censored": "hidden", "msg": "password"}))
    assert "password" not in said


def test_a_host_that_is_not_reached_has_its_own_remedy(plugin: ModuleType) -> None:
    callback = plugin.CallbackModule()
    callback.v2_runner_on_unreachable(outcome("one", "setup", {"msg": "No route to host"}))
    callback.v2_playbook_on_stats(SimpleNamespace(failures={}, dark={"one": 1}))
    assert any("Is the host on" in line for line in callback.said)


def test_a_run_that_ended_well_says_nothing_more(plugin: ModuleType) -> None:
    """A failure that the play itself has mended is none."""
    assert ended(plugin, outcome("one", "apt", {"msg": "mended"}), is_well=True) == ""
