"""The configuration of the process manager names every service with its environment."""

import configparser

import pytest

from cluster.domain.states import TaskQueue
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.supervisor import define_services, render_redis_configuration, service_variables


def test_every_service_is_in_supervisords_file_with_a_log_of_limited_size(places: InstallationPaths) -> None:
    parser = configparser.ConfigParser()
    parser.read(places.supervisor_file)
    for service in define_services(places):
        section = parser[f"{'fcgi-program' if service.socket else 'program'}:{service.name}"]
        assert section["autorestart"] == "true"
        assert int(section["stdout_logfile_maxbytes"]) * (int(section["stdout_logfile_backups"]) + 1) < 100e6
        assert section["stdout_logfile"] == f"{places.log_dir}/{service.name}.log"


def test_every_queue_has_a_task_worker_and_redis_comes_first(places: InstallationPaths) -> None:
    services = define_services(places)
    (workers,) = (each.command for each in services if each.name == "task-workers")
    assert workers[-5:] == ("tasks", *TaskQueue)
    assert services[0].name == "redis"


@pytest.mark.parametrize("name", ["portal", "stream"])
def test_what_nginx_asks_listens_on_a_socket_alone_which_outlives_it(
    places: InstallationPaths, name: str
) -> None:
    text = places.supervisor_file.read_text()
    socket = getattr(places, f"{name}_socket")
    assert f"[fcgi-program:{name}]\nsocket=unix://{socket}\n" in text
    assert "worker.embedded.supervisor_sockets:make_socket_holder" in text
    assert socket.parent.stat().st_mode & 0o777 == 0o710


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
