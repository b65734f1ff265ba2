"""The catalogue that ships: each repair has its playbook, words and checks, and hands no person's text over."""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.domain.installation import InstallationKind
from cluster.domain.repairs.definition import HOST_CHECKS, OF_SERVERS, CatalogueInvalid, CheckKind
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import (
    CatalogueEntry,
    find_catalogue_entry,
    installation_kinds,
    list_offered_repairs,
    read_catalogue_entry,
    read_repair_catalogue,
)
from tests.conftest import ANSIBLE
from worker.commands.repair_commands import COMMANDS

NAMES = sorted(path.stem for path in ANSIBLE.glob("repairs/*.yml"))
VARIABLES = {"repair_command", "repair_folder", "repair_run"}


@pytest.fixture(params=NAMES)
def entry(request: pytest.FixtureRequest) -> CatalogueEntry:
    return read_catalogue_entry(ANSIBLE, request.param)


def test_each_playbook_has_its_repair() -> None:
    assert sorted(path.stem for path in ANSIBLE.glob("playbooks/repair/*.yml")) == NAMES


def test_the_embedded_set_offers_its_repairs(light_cluster: Cluster) -> None:
    found = list_offered_repairs(light_cluster)
    assert {"back-up-now", "verify-backup", "restart-task-workers", "free-disk-space"} <= set(found)


def test_each_repair_is_verified(entry: CatalogueEntry) -> None:
    assert entry.repair.checks


def test_each_command_of_the_application_exists(entry: CatalogueEntry) -> None:
    text = (ANSIBLE / "playbooks" / "repair" / f"{entry.repair.name}.yml").read_text()
    for play in yaml.safe_load(text):
        for task in play["tasks"]:
            called = task.get("ansible.builtin.command")
            asked = called["argv"] if isinstance(called, dict) and "argv" in called else []
            command, *words = asked[3:] if asked[:3] == ["nice", "-n", "10"] else asked or [""]
            if command != "{{ repair_command }}":
                assert InstallationKind.EMBEDDED not in entry.repair.installations
                continue
            assert words[0] in COMMANDS
            assert {word.strip("{} ") for word in words if "{{" in word} <= VARIABLES


@pytest.mark.parametrize(
    "name", ["back-up-now", "verify-backup", "verify-access-log", "free-disk-space", "clear-stuck-operations"]
)
def test_servers_offer_the_application_s_own_remedies(light_cluster: Cluster, name: str) -> None:
    servers = replace(light_cluster, settings=replace(light_cluster.settings, launcher="systemd"))
    assert find_catalogue_entry(servers, name).repair.checks


def test_nothing_that_one_process_manager_alone_knows_is_asked_on_servers(entry: CatalogueEntry) -> None:
    if OF_SERVERS & entry.repair.installations:
        assert CheckKind.SERVICES_RUNNING not in {check.kind for check in entry.repair.checks}
    if InstallationKind.EMBEDDED in entry.repair.installations:
        assert not {check.kind for check in entry.repair.checks} & {*HOST_CHECKS}


def names_set_by(part: Any) -> Iterator[str]:
    """The variables that plays and tasks set themselves: by `vars` and by `register`."""
    if isinstance(part, list):
        for each in part:
            yield from names_set_by(each)
    elif isinstance(part, dict):
        yield from part.get("vars") or {}
        yield from [part["register"]] if "register" in part else []
        for value in part.values():
            yield from names_set_by(value)


def test_a_playbook_touches_its_targets_alone_and_takes_no_word_of_a_person(entry: CatalogueEntry) -> None:
    text = (ANSIBLE / "playbooks" / "repair" / f"{entry.repair.name}.yml").read_text()
    if OF_SERVERS & entry.repair.installations:
        assert {play["hosts"] for play in yaml.safe_load(text)} == {"targets"}
    own = {name for name in names_set_by(yaml.safe_load(text)) if name.startswith("repair_")}
    assert set(re.findall(r"{{ *\(*([a-z_]+)", text)) <= {
        "item",
        "groups",
        "inventory_hostname",
        *VARIABLES,
        *own,
    }


def test_a_cluster_is_mended_where_there_is_one(light_cluster: Cluster, entry: CatalogueEntry) -> None:
    """Servers without Kubernetes have no such file: the role repairs leaves it out by this very line."""
    text = (ANSIBLE / "repairs" / f"{entry.repair.name}.yml").read_text()
    is_of_kubernetes = InstallationKind.KUBERNETES in entry.repair.installations
    assert bool(re.search("installations: .kubernetes.", text)) is is_of_kubernetes
    assert InstallationKind.KUBERNETES not in installation_kinds(InstallationKind.EMBEDDED)
    assert InstallationKind.KUBERNETES in installation_kinds(InstallationKind.SERVERS)


def test_the_programs_that_mend_a_cluster_are_brought_by_its_role(entry: CatalogueEntry) -> None:
    text = (ANSIBLE / "playbooks" / "repair" / f"{entry.repair.name}.yml").read_text()
    names = set(re.findall(r"/opt/groundcrew/kubernetes/([a-z-]+)", text))
    templates = ANSIBLE.parent / "roles" / "kubernetes" / "templates"
    assert names <= {path.stem for path in templates.glob("*.j2")}


def units_with(state: str, tasks: Iterable[Mapping[str, Any]]) -> set[str]:
    """Those that the tasks bring into that state, not counting what lies in blocks."""
    found = [task.get("ansible.builtin.systemd_service", {}) | {"loop": task.get("loop")} for task in tasks]
    units = [each["loop"] or [each["name"]] for each in found if each.get("state") == state]
    return {unit for names in units for unit in names}


def test_what_a_repair_stops_it_starts_again_also_where_it_fails(entry: CatalogueEntry) -> None:
    text = (ANSIBLE / "playbooks" / "repair" / f"{entry.repair.name}.yml").read_text()
    for play in yaml.safe_load(text):
        assert not units_with("stopped", play["tasks"]), "in a block that has an always"
        for task in play["tasks"]:
            stopped = units_with("stopped", task.get("block", []))
            assert stopped == units_with("started", task.get("always", []))


JOINING = (
    ANSIBLE / "playbooks" / "repair" / "reinitialise-kubernetes-worker.yml",
    ANSIBLE.parent / "roles" / "kubernetes" / "tasks" / "join.yml",
)


def calls_of(tasks: Iterable[Mapping[str, Any]], ending: str) -> list[Mapping[str, Any]]:
    return [task for task in tasks if re.search(ending, str(task.get("ansible.builtin.command")))]


@pytest.mark.parametrize("file", JOINING, ids=lambda file: file.stem)
def test_a_token_by_which_nodes_join_ends_also_where_the_join_fails(file: Path) -> None:
    content = yaml.safe_load(file.read_text())
    tasks = content[0].get("tasks", content)
    assert not calls_of(tasks, "/token($| )"), "in a block that has an always"
    (block,) = [task for task in tasks if calls_of(task.get("block", []), "/token$")]
    (end,) = calls_of(block["always"], "/token forget ")
    # Nothing is there to end where the master gave none.
    assert "default([])" in end["when"]


def test_the_tasks_of_a_block_are_told_in_their_order() -> None:
    (entry,) = (read_catalogue_entry(ANSIBLE, name) for name in NAMES if name == "reset-gpu")
    assert [task.en for task in entry.repair.tasks][-3:] == [
        "Stop what keeps the driver open",
        "Reset every GPU",
        "Start it again",
    ]


def with_a_broken_file(cluster: Cluster, folder: Path) -> Cluster:
    """A site has put a file of its own beside ours, and is in the middle of writing it."""
    copy = folder / "ansible"
    shutil.copytree(ANSIBLE, copy)
    (copy / "repairs" / "own-idea.yml").write_text("title: [")
    return replace(cluster, settings=replace(cluster.settings, ansible_dir=copy))


def test_what_ships_is_whole(light_cluster: Cluster) -> None:
    assert read_repair_catalogue(light_cluster).broken == {}


def test_a_file_that_cannot_be_read_is_left_out_and_named(light_cluster: Cluster, tmp_path: Path) -> None:
    here = with_a_broken_file(light_cluster, tmp_path)
    assert list_offered_repairs(here) == list_offered_repairs(light_cluster)
    with pytest.raises(CatalogueInvalid) as broken:
        find_catalogue_entry(here, "own-idea")
    assert broken.value.data["file"] == "own-idea.yml"


def test_gentler_ways_are_those_that_are_offered_here(light_cluster: Cluster, tmp_path: Path) -> None:
    here = with_a_broken_file(light_cluster, tmp_path)
    file = tmp_path / "ansible" / "repairs" / "restart-portal.yml"
    file.write_text(file.read_text() + "gentler: [own-idea, back-up-now, restart-api]\n")
    assert find_catalogue_entry(here, "restart-portal").repair.gentler == ("back-up-now",)


def test_a_changed_playbook_has_another_digest(tmp_path: Path) -> None:
    for kind in ("repairs", "playbooks/repair"):
        (tmp_path / kind).mkdir(parents=True)
        (tmp_path / kind / "verify-backup.yml").write_text((ANSIBLE / kind / "verify-backup.yml").read_text())
    before = read_catalogue_entry(tmp_path, "verify-backup").digest
    playbook = tmp_path / "playbooks" / "repair" / "verify-backup.yml"
    playbook.write_text(playbook.read_text() + "# changed\n")
    assert read_catalogue_entry(tmp_path, "verify-backup").digest != before
