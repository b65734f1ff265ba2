"""One Ansible for site.yml and for the worker: of its own environment, named by a setting, never too old."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


def test_the_portals_environment_has_no_ansible() -> None:
    pinned = (ROOT / "requirements" / "portal.txt").read_text()
    assert "\nansible" not in pinned and "ansible-core==" in (ROOT / "requirements/ansible.txt").read_text()


def load_plugin(monkeypatch: pytest.MonkeyPatch, core: str) -> ModuleType:
    """The vars plugin of site.yml under an ansible-core of that version."""

    class Base:
        def get_vars(self, *arguments: Any) -> None: ...

    stubs: dict[str, Any] = {
        "ansible": SimpleNamespace(),
        "ansible.errors": SimpleNamespace(AnsibleError=RuntimeError),
        "ansible.plugins": SimpleNamespace(),
        "ansible.plugins.vars": SimpleNamespace(BaseVarsPlugin=Base),
        "ansible.release": SimpleNamespace(__version__=core),
    }
    for name, module in stubs.items():
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location(
        "fitting_core", ROOT / "ansible/plugins/vars/fitting_core.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("core", "fits"), [("2.18.12", False), ("2.9.27", False), ("2.19.0", True), ("2.21.1", True)]
)
def test_site_yml_refuses_an_older_core_before_it_reads_a_playbook(
    monkeypatch: pytest.MonkeyPatch, core: str, fits: bool
) -> None:
    plugin = load_plugin(monkeypatch, core).VarsModule()
    if fits:
        assert plugin.get_vars(None, "", []) == {}
    else:
        with pytest.raises(RuntimeError, match=f"This is ansible-core {core}; 2.19 or newer is needed"):
            plugin.get_vars(None, "", [])
