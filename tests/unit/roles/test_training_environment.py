"""The training environment is begun before the cluster, and waited for once the cluster stands."""

from typing import Any

import yaml

from tests.unit.roles.rendering import ROOT, value_of

SITE: list[dict[str, Any]] = yaml.safe_load((ROOT / "site.yml").read_text())
ROLES = [role for play in SITE for role in play["roles"]]


def place(name: str) -> int:
    return next(number for number, role in enumerate(ROLES) if role["role"] == name)


def test_it_is_begun_before_the_cluster_and_waited_for_after_it() -> None:
    begun, waited = [
        (number, role) for number, role in enumerate(ROLES) if role["role"] == "training_environment"
    ]
    # Its log lies in a folder that the portal's role makes.
    assert place("portal") < begun[0] < place("kubernetes") < waited[0]
    # The image is made of its packages, and pods of the last play run in that image.
    assert waited[0] < place("default_image") < place("verify")
    assert begun[1]["training_environment_waits"] is False
    assert "training_environment_waits" not in waited[1]
    assert begun[1]["tags"] == waited[1]["tags"] == ["training_environment"]


def test_both_builds_are_the_same_command() -> None:
    command = value_of("training_environment", "training_environment_build", groundcrew_bundle="/bundle")
    tasks = yaml.safe_load((ROOT / "roles/training_environment/tasks/main.yml").read_text())
    begun, waited = [task for task in tasks if "environment" in task]
    assert begun["ansible.builtin.shell"]["cmd"].startswith("setsid --fork {{ training_environment_build }} ")
    assert waited["ansible.builtin.command"] == "{{ training_environment_build }}"
    assert begun["environment"] == waited["environment"]
    assert command.split()[1:4] == ["-m", "worker.environments", "build"]
    assert command.endswith("--compiled /bundle/files/compiled")
