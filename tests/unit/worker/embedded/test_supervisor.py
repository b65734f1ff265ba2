import configparser
import os
import tempfile
from pathlib import Path

import pytest

from cluster.domain.states import TaskQueue
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.startup import code_fingerprint
from worker.embedded.state_directory import (
    ensure_state_directory,
    find_impassable_folder,
    is_path_too_long_for_sockets,
    link_environment,
)
from worker.embedded.supervisor import (
    define_services,
    render_redis_configuration,
    render_supervisor_configuration,
    service_variables,
)


@pytest.fixture
def places(tmp_path: Path) -> InstallationPaths:
    places = InstallationPaths(tmp_path / "clone", tmp_path / "state", tmp_path / "cache")
    for package in ("cluster", "portal", "worker"):
        (places.clone / package).mkdir(parents=True)
    ensure_state_directory(places)
    places.settings_file.write_text("GROUNDCREW_PORT=8470\n")
    places.supervisor_file.write_text(render_supervisor_configuration(places))
    return places


def test_every_service_is_in_supervisords_file_with_a_log_of_limited_size(places: InstallationPaths) -> None:
    parser = configparser.ConfigParser()
    parser.read(places.supervisor_file)
    for service in define_services(places):
        section = parser[f"{'fcgi-program' if service.socket else 'program'}:{service.name}"]
        assert section["autorestart"] == "true"
        assert int(section["stdout_logfile_maxbytes"]) * (int(section["stdout_logfile_backups"]) + 1) < 100e6
        assert section["stdout_logfile"] == f"{places.log_dir}/{service.name}.log"


def test_environments_are_built_beside_the_uploads(places: InstallationPaths) -> None:
    names = [service.name for service in define_services(places)]
    assert {"tasks-general", "tasks-images"} <= set(names)
    assert names[0] == "redis"


def test_every_queue_has_a_task_worker_and_those_that_work_for_minutes_step_back(
    places: InstallationPaths,
) -> None:
    workers = {each.name: each.command for each in define_services(places)}
    assert {f"tasks-{queue}" for queue in TaskQueue} <= set(workers)
    gentle = {name for name, command in workers.items() if command[:3] == ("nice", "-n", "10")}
    assert gentle == {"tasks-backups", "tasks-general"}


def test_the_portal_listens_on_a_socket_alone_which_outlives_it(places: InstallationPaths) -> None:
    text = places.supervisor_file.read_text()
    assert f"[fcgi-program:portal]\nsocket=unix://{places.portal_socket}\n" in text
    assert "worker.embedded.supervisor_sockets:make_socket_holder" in text
    assert places.portal_socket.parent.stat().st_mode & 0o777 == 0o710


def test_redis_has_no_port_and_forgets_nothing(places: InstallationPaths) -> None:
    lines = render_redis_configuration(places).splitlines()
    assert "port 0" in lines
    assert "appendonly yes" in lines
    assert "maxmemory-policy noeviction" in lines
    assert f"unixsocket {places.redis_socket}" in lines


def test_services_see_no_keys_of_the_person_who_started_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("LANG", "ko_KR.UTF-8")
    seen = service_variables({"GROUNDCREW_PORT": "8470"}, {"UV_SYSTEM_CERTS": "true"})
    assert not {"SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY"} & set(seen)
    assert seen["https_proxy"] and seen["LANG"] == "ko_KR.UTF-8"
    assert seen["GROUNDCREW_PORT"] == "8470" and seen["UV_SYSTEM_CERTS"] == "true"


@pytest.mark.parametrize("name", ["database", "run", "secrets", "log", "redis"])
def test_nobody_else_reads_what_the_services_keep(places: InstallationPaths, name: str) -> None:
    assert (places.state_dir / name).stat().st_mode & 0o777 == 0o700


def test_jobs_pass_through_to_their_folders_and_list_nothing(places: InstallationPaths) -> None:
    assert places.state_dir.stat().st_mode & 0o777 == 0o711
    assert (places.state_dir / "storage").stat().st_mode & 0o777 == 0o711
    assert (places.state_dir / "runtime").stat().st_mode & 0o777 == 0o755


def test_a_changed_file_or_setting_is_another_release(places: InstallationPaths) -> None:
    seen = {code_fingerprint(places)}
    assert code_fingerprint(places) in seen
    (places.clone / "portal" / "page.html").write_text("a")
    seen.add(code_fingerprint(places))
    (places.clone / "portal" / "page.html").write_text("b")
    seen.add(code_fingerprint(places))
    places.settings_file.write_text("GROUNDCREW_PORT=8471\n")
    seen.add(code_fingerprint(places))
    assert len(seen) == 4


def test_a_clone_too_deep_for_a_socket_is_told_before(tmp_path: Path) -> None:
    assert not is_path_too_long_for_sockets(
        InstallationPaths(Path("/a"), Path("/var/lib/groundcrew/0123456789ab"), Path("/c"))
    )
    assert is_path_too_long_for_sockets(InstallationPaths(Path("/a"), Path("/home") / ("x" * 80), Path("/c")))


@pytest.mark.skipif(os.geteuid() != 0, reason="without root jobs and nginx are the same user")
def test_a_state_that_jobs_and_nginx_could_not_reach_is_told_before() -> None:
    with tempfile.TemporaryDirectory(prefix="gc-") as name:
        places = InstallationPaths(Path("/a"), Path(name) / "state", Path("/c"))
        assert find_impassable_folder(places) == Path(name)
        Path(name).chmod(0o755)
        assert find_impassable_folder(places) is None


def test_the_environment_that_runs_can_be_found_again(places: InstallationPaths, tmp_path: Path) -> None:
    for name in ("portal-1", "portal-2"):
        (tmp_path / name).mkdir()
        link_environment(places, tmp_path / name)
        assert places.environment_link.resolve() == tmp_path / name
