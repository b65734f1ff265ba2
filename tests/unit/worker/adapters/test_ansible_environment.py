"""The worker takes the Ansible that its setting names, and no other version."""

from pathlib import Path

import pytest
import yaml

from cluster.domain.errors import Unavailable
from worker.adapters.ansible_environment import AT_LEAST, check_ansible

ROOT = Path(__file__).parents[4]


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
