"""The console in a real terminal, with portal, Redis and database down in turn: the repair brings each back."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.services.audit import entries as audit
from cluster.services.context import Cluster
from cluster.services.people.passwords import read_password_link
from cluster.services.repairs import repair_runs
from cluster.settings import Settings
from cluster.store.repairs import RepairRun
from tests.builders import a_node, actor_of, an_administrator
from tests.console_menu import choose, leave
from tests.free_ports import free_port
from tests.integration.pseudo_terminal import Terminal, a_terminal
from tests.integration.worker.executors.conftest import until
from worker.adapters.health_probes import database_problem, portal_status, redis_problem
from worker.adapters.host import read_host_name
from worker.bootstrap.paths import CLONE, InstallationPaths, find_installation_paths
from worker.composition import open_cluster
from worker.embedded import supervisor as services
from worker.embedded.nginx import copy_static_files, ensure_nginx_configuration
from worker.embedded.settings_file import ensure_settings_file, read_settings_file
from worker.embedded.state_directory import ensure_state_directory
from worker.embedded.supervisor import ServiceDefinition
from worker.embedded.supervisor_client import SupervisorClient

IDLE = "import signal; signal.pause()"
HOLDS_THE_DATABASE = """
import os, pathlib, signal, sqlite3, sys
asked = pathlib.Path(sys.argv[2])
if asked.exists():
    asked.unlink()
    connection = sqlite3.connect(sys.argv[1])
    connection.execute("BEGIN IMMEDIATE")
    pathlib.Path(sys.argv[2] + "ing").touch()
    os.kill(os.getpid(), signal.SIGSTOP)
signal.pause()
"""


@dataclass(frozen=True)
class House:
    """Real Redis, portal, database and process manager; what would work by itself stands idle."""

    places: InstallationPaths
    cluster: Cluster
    chief: Actor

    @property
    def settings(self) -> Settings:
        return self.cluster.settings

    @property
    def supervisor(self) -> SupervisorClient:
        return SupervisorClient(self.places)

    def environment(self, locale: str = "C.UTF-8") -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return kept | {
            "LC_ALL": locale,
            "PYTHONPATH": str(CLONE),
            "GROUNDCREW_STATE_DIR": str(self.places.state_dir),
            "GROUNDCREW_CACHE_DIR": str(self.places.cache_dir),
        }

    def lock_database(self) -> None:
        """As a scheduler does that hangs in the middle of a transaction."""
        (self.places.state_dir / "run" / "hold").touch()
        self.supervisor.call("stopProcess", "scheduler")
        self.supervisor.call("startProcess", "scheduler", False)
        until((self.places.state_dir / "run" / "holding").exists, 60, "a hanging scheduler")

    def newest_run(self, reason: str) -> RepairRun:
        run = repair_runs.list_repair_runs(self.cluster, self.chief)[0]
        assert run.reason == reason
        return run


def stand_ins(places: InstallationPaths) -> list[ServiceDefinition]:
    real = {each.name: each for each in services_of(places)}
    idle = (sys.executable, "-c", IDLE)
    holder = places.state_dir / "run" / "holder.py"
    holder.write_text(HOLDS_THE_DATABASE)
    command = (sys.executable, str(holder), str(places.database_file), str(places.state_dir / "run" / "hold"))
    found = [real["redis"], real["portal"], real["nginx"], ServiceDefinition("scheduler", command, 30, 1)]
    return [*found, ServiceDefinition("task-workers", idle, 40, 1)]


services_of = services.define_services


@pytest.fixture(scope="module")
def house(migrated_file: Path) -> Iterator[House]:
    folder = Path(tempfile.mkdtemp(prefix="gc-"))
    folder.chmod(0o755)
    places = InstallationPaths(CLONE, folder / "state", find_installation_paths().cache_dir)
    ensure_state_directory(places)
    shutil.copy(migrated_file, places.database_file)
    (places.state_dir / "environment").symlink_to(sys.prefix)
    ensure_settings_file(places, free_port())
    values = read_settings_file(places.settings_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "define_services", stand_ins)
        places.supervisor_file.write_text(services.render_supervisor_configuration(places))
    (places.state_dir / "run" / "redis.conf").write_text(services.render_redis_configuration(places))
    cluster = open_cluster(Settings.from_environment(values))
    ensure_nginx_configuration(places, cluster.settings)
    copy_static_files(places, cluster.settings)
    supervisor = SupervisorClient(places)
    supervisor.start_supervisord({**os.environ, **values, "PYTHONPATH": str(CLONE)})
    try:
        until(lambda: portal_status(cluster.settings) == 200, 120, "the portal")
        a_node(cluster, 2, name=read_host_name())
        yield House(places, cluster, actor_of(an_administrator(cluster, name="minji")))
    finally:
        cluster.store.close()
        cluster.events.connection.close()  # type: ignore[attr-defined]
        supervisor.stop_all()
        shutil.rmtree(folder)


@contextmanager
def opened(house: House, locale: str = "C.UTF-8") -> Iterator[Terminal]:
    with a_terminal([sys.executable, "-m", "worker", "console"], house.environment(locale)) as terminal:
        yield terminal


@pytest.mark.long
def test_a_portal_that_is_down_is_restarted(house: House) -> None:
    house.supervisor.call("stopProcess", "portal")
    with opened(house) as console:
        menu = choose(console, "Restart the portal")
        assert "Portal    does not answer" in menu and "not running: portal" in menu
        assert "No job runs now." in console.expect("Nothing leaves it:")
        console.type("pages do not load")
        assert "This console runs it itself." in console.expect("] the portal answers")
        console.expect("Verified")
        assert "(Verified" in console.expect("Number, or a letter:")
        leave(console)
    assert portal_status(house.settings) == 200
    run = house.newest_run("pages do not load")
    assert (run.verdict, run.console_user) == (RepairVerdict.VERIFIED, run.who)
    assert [check["is_ok"] for check in run.before] == [False, False]


@pytest.mark.long
def test_a_redis_that_is_down_is_restarted_although_no_task_worker_can_hear_of_it(house: House) -> None:
    house.supervisor.call("stopProcess", "redis")
    with opened(house) as console:
        menu = choose(console, "Restart the master's services")
        assert "Redis     does not answer" in menu and "this console runs it itself" in menu
        console.expect("Nothing leaves it:")
        console.type("nothing starts")
        console.expect("] Redis answers")
        console.expect("Verified")
        console.expect("Number, or a letter:")
        leave(console)
    assert redis_problem(house.settings) == ""


@pytest.mark.long
def test_a_database_that_hangs_is_freed_and_the_record_is_read_in_afterwards(house: House) -> None:
    house.lock_database()
    with opened(house) as console:
        menu = choose(console, "Restart the master's services")
        assert "database is locked" in menu and "a file keeps the record" in menu
        assert "Not known while the database is away" in console.expect("Nothing leaves it:")
        console.type("nothing is saved")
        console.expect("] the database answers")
        console.expect("Verified")
        assert "Read in from its record: repair" in console.expect("Number, or a letter:")
        leave(console)
    assert database_problem(house.settings) == ""
    run = house.newest_run("nothing is saved")
    assert (run.verdict, run.operation_id) == (RepairVerdict.VERIFIED, None)
    assert [check["code"] for check in run.before][-1] == "check.database_answers.not"
    assert not list((house.places.state_dir / "repairs" / "records").glob("*.json"))
    entries = audit.list_audit_entries(house.cluster, house.chief, object_kind="repair", object_id=run.id)
    assert [(entry.action, entry.address) for entry in entries] == [
        ("repair.ended", "console"),
        ("repair.asked", "console"),
    ]


def test_a_forgotten_password_is_replaced_by_a_link_that_works_once(house: House) -> None:
    with opened(house, "ko_KR.UTF-8") as console:
        assert "지금 백업하기" in console.expect("번호 또는 글자:")
        console.type("f")
        choices = console.expect("그냥 Enter:")
        (number,) = [line.split()[0] for line in choices.splitlines() if line.split()[1:2] == ["minji"]]
        console.type(number)
        console.expect("/link/")
        secret = console.expect("\n").strip()
        console.expect("번호 또는 글자:")
        leave(console)
    assert read_password_link(house.cluster, secret).name == "minji"
    assert not [
        path for path in house.places.log_dir.glob("*.log") if secret in path.read_text(errors="replace")
    ]
