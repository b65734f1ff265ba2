"""One Ansible for site.yml and for the worker: of its own environment, named by a setting, never too old."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from cluster.domain.errors import Unavailable
from worker.adapters.ansible_environment import AT_LEAST, check_ansible

ROOT = Path(__file__).parents[3]


def a_playbook_program(folder: Path, says: str, code: int = 0) -> Path:
    program = folder / "ansible-playbook"
    program.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    program.chmod(0o755)
    return program


def test_the_worker_takes_the_ansible_that_the_setting_names(tmp_path: Path) -> None:
    program = a_playbook_program(tmp_path, "ansible-playbook [core 2.19.14]")
    assert check_ansible(tmp_path) == program


@pytest.mark.parametrize(
    ("says", "code", "refusal"),
    [
        ("ansible-playbook [core 2.18.9]", 0, "ansible.too_old"),
        ("ansible-playbook 2.9.27", 0, "ansible.missing"),
        ("ansible-playbook [core 2.19.14]", 1, "ansible.missing"),
    ],
)
def test_another_one_is_refused_by_name(tmp_path: Path, says: str, code: int, refusal: str) -> None:
    a_playbook_program(tmp_path, says, code)
    with pytest.raises(Unavailable) as refused:
        check_ansible(tmp_path)
    assert refused.value.code == refusal and str(tmp_path) in refused.value.data["path"]


def test_a_folder_without_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        check_ansible(tmp_path / "nowhere")


def test_both_sides_want_the_same_version() -> None:
    sources = yaml.safe_load((ROOT / "inventory/group_vars/all/sources.yml").read_text())[
        "groundcrew_sources"
    ]
    assert sources["ansible_core"]["at_least"] == ".".join(map(str, AT_LEAST))


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
