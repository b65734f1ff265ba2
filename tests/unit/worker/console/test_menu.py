"""The menu itself: it asks where to work, and goes on with whatever of the installation is still there."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text, update

from cluster.domain.repairs.definition import Repair
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import OperationState
from cluster.services.context import Cluster
from cluster.services.repairs import repair_runs
from cluster.services.repairs.catalogue import find_catalogue_entry
from cluster.services.repairs.offline_records import list_offline_records
from cluster.store.operations import Operation
from cluster.store.repairs import RepairRun
from tests.builders import a_node, actor_of, an_administrator
from tests.unit.cluster.services.repairs.test_catalogue import with_a_broken_file
from worker.console import menu
from worker.console.installation_status import InstallationStatus
from worker.console.menu import ConsoleMenu

WELL = InstallationStatus(200, "", "", ())
Types = Callable[..., None]


@pytest.fixture
def servers(light_cluster: Cluster) -> Cluster:
    for name in ("gpu01", "gpu02", "gpu03"):
        a_node(light_cluster, 2, name=name)
    settings = replace(light_cluster.settings, launcher="systemd", master_node="gpu01")
    return replace(light_cluster, settings=settings)


@pytest.fixture
def console(servers: Cluster, monkeypatch: pytest.MonkeyPatch) -> ConsoleMenu:
    """On servers where all is well; a run that is to be followed is not."""
    console = ConsoleMenu(servers, "root")
    console.status = WELL
    monkeypatch.setattr(menu, "read_installation_status", lambda settings: WELL)
    monkeypatch.setattr(ConsoleMenu, "follow", lambda console, run_id: None)
    return console


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Types:
    return lambda *lines: monkeypatch.setattr(
        "sys.stdin", io.StringIO("".join(f"{each}\n" for each in lines))
    )


def repair(console: ConsoleMenu, name: str) -> Repair:
    return find_catalogue_entry(console.cluster, name).repair


def runs(console: ConsoleMenu) -> list[RepairRun]:
    return repair_runs.list_repair_runs(console.cluster, actor_of(an_administrator(console.cluster)))


def test_a_repair_of_nodes_runs_on_those_that_the_person_names(console: ConsoleMenu, types: Types) -> None:
    types("3 2", "silent since noon")
    console.offer_repair(repair(console, "restart-worker-agent"))
    assert [run.hosts for run in runs(console)] == [["gpu03", "gpu02"]]


@pytest.mark.parametrize("typed", ["", "4", "1 gpu02", "²"])
def test_a_person_who_names_no_node_of_the_list_leaves_it(
    console: ConsoleMenu, types: Types, typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    types(typed, "silent since noon")
    console.offer_repair(repair(console, "restart-worker-agent"))
    assert runs(console) == []
    assert ("There is no" in capsys.readouterr().out) is bool(typed)


def test_what_is_not_drained_is_said_before_the_reason_is_asked_for(
    console: ConsoleMenu, types: Types, capsys: pytest.CaptureFixture[str]
) -> None:
    types("2", "")
    console.offer_repair(repair(console, "reset-gpu"))
    assert "Not drained and empty yet: gpu02" in capsys.readouterr().out


def test_without_the_database_nobody_can_say_that_a_node_is_drained(
    console: ConsoleMenu, types: Types, capsys: pytest.CaptureFixture[str]
) -> None:
    console.status = replace(WELL, database_error="is away")
    types("XID 95")
    console.offer_repair(repair(console, "reset-gpu"))
    assert "That needs the database" in capsys.readouterr().out
    assert list_offline_records(console.cluster) == []


def test_a_database_that_answers_in_part_leaves_the_menu_standing(
    console: ConsoleMenu, capsys: pytest.CaptureFixture[str]
) -> None:
    with console.cluster.store.write() as session:
        session.execute(text("ALTER TABLE repair_runs RENAME TO taken_away"))
    assert "restart-api" in [each.name for each in console.refresh_and_show()]
    assert "no such table" in console.status.database_error
    assert "Database  does not answer" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_is_said_and_the_other_repairs_stay(
    console: ConsoleMenu, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    console.cluster = with_a_broken_file(console.cluster, tmp_path)
    assert "restart-api" in [each.name for each in console.refresh_and_show()]
    assert "own-idea.yml" in capsys.readouterr().out


def test_a_run_that_was_given_up_is_closed_and_asked_for_anew(console: ConsoleMenu, types: Types) -> None:
    types("errors")
    console.offer_repair(repair(console, "restart-api"))
    (run,) = runs(console)
    with console.cluster.store.write() as session:
        session.execute(update(Operation).values(state=OperationState.INTERRUPTED))
    types("")
    console.offer_repair(repair(console, "restart-api"))
    assert [each.id for each in runs(console)] == [run.id]
    types("y", "once more")
    console.offer_repair(repair(console, "restart-api"))
    again, closed = runs(console)
    assert (closed.id, closed.verdict) == (run.id, RepairVerdict.BROKEN)
    assert again.id != run.id and again.ended_at is None and again.reason == "once more"
