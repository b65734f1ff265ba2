"""Promises that all roles keep, read off their files."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hosts.appliance import test_hardware, test_one_host
from tests.hosts.appliance.installer import installed_host
from tests.unit.roles.rendering import read, rendered, variables

ROOT = Path(__file__).parents[3]
ROLES = sorted(folder for folder in (ROOT / "roles").iterdir() if folder.is_dir())
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\w")
VERSION = re.compile(r"(?<![\w.])\d+\.\d+\.\d+(?![\w.])(?<!127\.0\.0)")
LEAVE_NOTHING = {"preflight", "reboot", "closing", "verify"}
"""Roles that read, start the host anew or speak."""
OWN = ("unix://", "postgresql+psycopg://", "http://unix:", "https://127.0.0.1")
"""Addresses on the host itself."""
LANGUAGES = ("cniVersion: 0.3.1",)
"""Versions of what is spoken, which no source delivers."""
PROBES = {
    "portal : Read its public half",
    "container_engine : Look at what is here and what apt offers",
    "pod_network : Read the account's token",
    "verify : Read which image the pods of jobs have",
    "base : Find accounts that were not here before",
    "base : Find groups that packages have brought and left",
    "bundle : Read the bundle, whole where this host does not know it yet",
    "storage : Look at it as the master's scheduler and every node's kubelet do",
    "training_environment : Look whether it stands",
    "mofed : See that their modules are built",
    "nvidia_driver : Find initial RAM disks that are older than that",
    "nvidia_driver : Let the host finish its start",
    "nvidia_driver : Read what apt has of the distribution's archive",
    "nvidia_driver : Read what the kernel says of the driver",
    "nvidia_driver : Read which build that is",
    "nvidia_driver : See that it works",
    "closing : Read the versions of what came with it",
    "kubernetes_addons : Read the account's token",
    "verify : Multiply on each free GPU, and compare with the CPU",
}
"""Read-only commands, the only tasks that may say that they never change anything."""


def name(role: Path) -> str:
    return role.name


def texts(role: Path) -> Iterator[tuple[Path, str]]:
    for file in sorted(role.rglob("*")):
        if file.is_file() and file.name != "README.md":
            yield file.relative_to(ROOT), file.read_text()


def tasks(role: Path, folder: str = "tasks") -> Iterator[dict[str, Any]]:
    for file in sorted((role / folder).glob("*.yml")):
        yield from flatten(yaml.safe_load(file.read_text()) or [])


def flatten(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in found:
        yield task
        for part in ("block", "rescue", "always"):
            yield from flatten(task.get(part, []))


@pytest.mark.parametrize("role", ROLES, ids=name)
def test_addresses_and_versions_are_in_the_sources_map_alone(role: Path) -> None:
    for file, text in texts(role):
        for line in text.splitlines():
            plain = line
            for own in (*OWN, *LANGUAGES):
                plain = plain.replace(own, "")
            assert not ADDRESS.search(plain), f"{file}: {line.strip()}"
            assert not VERSION.search(plain), f"{file}: {line.strip()}"


@pytest.mark.parametrize("role", ROLES, ids=name)
def test_every_option_is_specified_defaulted_and_explained(role: Path) -> None:
    specified = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]
    file = role / "defaults/main.yml"
    defaults = yaml.safe_load(file.read_text()) if file.exists() else {}
    assert specified["short_description"]
    needed = {option for option, about in specified.get("options", {}).items() if about.get("required")}
    assert set(specified.get("options", {})) == set(defaults) | needed
    for option, about in specified.get("options", {}).items():
        assert option.startswith(f"{role.name}_"), option
        assert about["description"], option
        if "default" in about and "{{" not in str(defaults[option]):
            assert about["default"] == defaults[option], option


@pytest.mark.parametrize("role", ROLES, ids=name)
def test_a_readme_says_what_changes_on_the_host(role: Path) -> None:
    text = (role / "README.md").read_text()
    assert text.startswith(f"# {role.name}\n")
    assert "On the host" in text


@pytest.mark.parametrize("role", ROLES, ids=name)
def test_restarts_and_daemon_reloads_are_in_handlers(role: Path) -> None:
    for task in tasks(role):
        for module in (
            "ansible.builtin.systemd_service",
            "ansible.builtin.systemd",
            "ansible.builtin.service",
        ):
            options = task.get(module, {})
            assert options.get("state") not in {"restarted", "reloaded"}, task["name"]
            assert not options.get("daemon_reload"), task["name"]


@pytest.mark.parametrize("role", ROLES, ids=name)
def test_only_listed_probes_never_report_a_change(role: Path) -> None:
    silent = {f"{role.name} : {task['name']}" for task in tasks(role) if task.get("changed_when") is False}
    assert silent <= PROBES


def packages(task: dict[str, Any], role: Path) -> list[str]:
    """By name, without the least version, which some hosts alone know."""
    names = task["present_packages"]["names"]
    plain = [each.partition(">=")[0] for each in names] if isinstance(names, list) else names
    return list(rendered(plain, variables(role.name)))


@pytest.mark.parametrize("role", ROLES, ids=name)
def test_what_a_role_installs_the_role_base_takes_off_again(role: Path) -> None:
    ours = read("roles/base/vars/main.yml")["base_ours"]
    for task in tasks(role):
        for package in packages(task, role) if "present_packages" in task else []:
            assert any(re.fullmatch(pattern, package) for pattern in ours), package


def test_every_listed_probe_is_there() -> None:
    names = {f"{role.name} : {task['name']}" for role in ROLES for task in tasks(role)}
    assert names >= PROBES


def test_site_yml_fits_on_a_screen_and_names_roles_that_are_there() -> None:
    text = (ROOT / "site.yml").read_text()
    assert len(text.splitlines()) <= 75
    used = {role["role"] for play in yaml.safe_load(text) for role in play["roles"]}
    assert used <= {role.name for role in ROLES}


def test_a_node_takes_jobs_again_once_all_of_its_hardware_has_its_programs() -> None:
    """The start anew that opens it is the last of its play."""
    plays = [
        [role["role"] for role in play["roles"]] for play in yaml.safe_load((ROOT / "site.yml").read_text())
    ]
    (roles,) = (each for each in plays if "nvidia_driver" in each)
    assert {"mofed", "fabric_manager", "nvidia_container_toolkit"} <= set(roles) and roles[-1] == "reboot"


def test_every_role_that_changes_a_host_can_be_taken_off_in_the_opposite_order() -> None:
    site = yaml.safe_load((ROOT / "site.yml").read_text())
    lists = yaml.safe_load((ROOT / "ansible/playbooks/vars/uninstall.yml").read_text())
    installed = {
        host: [role["role"] for each in site if each["hosts"] == host for role in each["roles"]]
        for host in ("groundcrew", "master")
    }
    installed = {
        host: [name for name in roles if name not in LEAVE_NOTHING] for host, roles in installed.items()
    }
    taken_off = lists["uninstall_roles_of_the_master"]
    assert set(taken_off) == {*installed["groundcrew"], *installed["master"]}
    assert set(lists["uninstall_roles_of_every_host"]) == set(installed["groundcrew"])
    for name in taken_off:
        assert (ROOT / "roles" / name / "tasks/uninstall.yml").exists(), name
    assert taken_off[-1] == "base" and taken_off[0] == "agent"


def test_hosts_with_roles_of_their_own_are_taken_off_in_plays_of_their_own() -> None:
    """Within one play roles run in the order of the host that answers first: users went before their services."""
    plays = yaml.safe_load((ROOT / "ansible/playbooks/uninstall.yml").read_text())
    assert [play["hosts"] for play in plays] == ["groundcrew:!master", "master"]


def test_the_tasks_that_tests_on_hosts_name_are_there() -> None:
    """On a host a name that is gone would be found out minutes later."""
    names = {f"{role.name} : {task['name']}" for role in ROLES for task in tasks(role) if "name" in task}
    assert {*installed_host.KILLED_IN, *test_one_host.DAMAGE} - names == set()
    assert [part for part in test_hardware.DAMAGE if not any(part in name for name in names)] == []
