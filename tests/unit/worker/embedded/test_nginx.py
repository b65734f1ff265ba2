"""nginx in front of the embedded set: what is written for it, and what it says itself about it."""

import json
import os
import re
import socket
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cluster.settings import Settings
from tests.unit.roles.rendering import ROOT, read, render
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate
from worker.bootstrap.paths import InstallationPaths
from worker.embedded import nginx
from worker.embedded.nginx import copy_static_files, ensure_nginx_configuration, find_nginx_program
from worker.embedded.state_directory import ensure_state_directory

FRONT = ROOT / "portal" / "static" / "front"
ANSWERS = ("413", "429", "503", "upload")


@pytest.fixture
def places(tmp_path: Path) -> InstallationPaths:
    places = InstallationPaths(ROOT, tmp_path / "state", tmp_path / "cache")
    ensure_state_directory(places)
    return places


@pytest.fixture
def settings(places: InstallationPaths) -> Settings:
    return Settings(
        places.state_dir, places.cache_dir, "sqlite://", "unix://", "canary-of-the-key", port=8470
    )


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    folder = tmp_path / "tls"
    folder.mkdir()
    ensure_authority(folder, "a test")
    ensure_certificate(folder, ["127.0.0.2"])
    return folder


def judged(file: Path) -> str:
    """What nginx says of a configuration, without starting."""
    done = subprocess.run(
        [find_nginx_program(), "-t", "-e", "stderr", "-c", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_nginx_takes_what_is_written_for_one_machine(places: InstallationPaths, settings: Settings) -> None:
    ensure_nginx_configuration(places, settings)
    copy_static_files(places, settings)
    assert "warn" not in judged(places.nginx_dir / "nginx.conf")
    site = (places.nginx_dir / "site.conf").read_text()
    assert "listen 127.0.0.1:8470 backlog=2048;" in site and "ssl" not in re.sub("_ssl|Ssl", "", site)


def test_nobody_outside_chooses_the_id_of_a_request(places: InstallationPaths, settings: Settings) -> None:
    """It stands in the access log. nginx sets it for the portal and for what open pages follow."""
    ensure_nginx_configuration(places, settings)
    site = (places.nginx_dir / "site.conf").read_text()
    assert "proxy_set_header X-Request-Id $request_id;" in site
    below_locations = [
        part for part in site.split("location ")[1:] if "proxy_set_header" in part.split("}")[0]
    ]
    assert all("X-Request-Id" in part for part in below_locations), "these inherit none of the headers above"


def test_nginx_takes_what_is_written_for_another_address(
    places: InstallationPaths, settings: Settings, certificate: Path
) -> None:
    ensure_nginx_configuration(places, replace(settings, host="127.0.0.2", tls_dir=certificate))
    judged(places.nginx_dir / "nginx.conf")
    site = (places.nginx_dir / "site.conf").read_text()
    assert "listen 127.0.0.2:8470 ssl http2 backlog=2048;" in site
    assert f"ssl_certificate_key {places.nginx_dir}/portal.key;" in site
    assert (places.nginx_dir / "portal.key").stat().st_mode & 0o777 == 0o640
    ensure_nginx_configuration(places, settings)
    assert not (places.nginx_dir / "portal.key").exists()


def test_nginx_takes_what_the_role_writes_for_servers(places: InstallationPaths, certificate: Path) -> None:
    """As the distribution's nginx.conf includes it; only its place and its certificate are the test's."""
    given = {
        "groundcrew_portal_port": 8443,
        "groundcrew_public_name": "gpu.example",
        "groundcrew_home": "/opt/groundcrew",
        "groundcrew_configuration": "/etc/groundcrew",
        "ansible_facts": {"python": {"version": {"major": 3, "minor": 11}}},
        "nginx_certificate": f"{certificate}/portal.pem",
        "nginx_certificate_key": f"{certificate}/portal.key",
    }
    site = places.state_dir / "site.conf"
    site.write_text(render("nginx", "groundcrew.conf", **given))
    whole = places.state_dir / "nginx.conf"
    files = render("nginx", "groundcrew-files.conf", **given)
    whole.write_text(
        f"{files}pid {places.state_dir}/pid;\nevents {{ worker_connections 8192; }}\nhttp {{ include {site}; }}\n"
    )
    judged(whole)
    assert "server unix:/run/groundcrew/stream.sock;" in site.read_text()
    assert "listen [::]:8443 ssl http2 backlog=2048;" in site.read_text()


def test_the_role_finds_the_number_of_connections_in_the_distributions_own_file() -> None:
    (more,), (less,) = replacements("main"), replacements("uninstall")
    text = Path("/etc/nginx/nginx.conf").read_text()
    raised, count = re.subn(more["regexp"], more["replace"], text, flags=re.M)
    assert count == 1 and "worker_connections 8192;" in raised
    back, count = re.subn(less["regexp"], less["replace"], raised, flags=re.M)
    assert count == 1 and re.sub("768|8192", "", back) == re.sub("768|8192", "", text)


def replacements(file: str) -> list[dict[str, str]]:
    text = (ROOT / f"roles/nginx/tasks/{file}.yml").read_text().replace("{{ nginx_connections }}", "8192")
    return [each[name] for each in yaml.safe_load(text) for name in each if name == "ansible.builtin.replace"]


def test_servers_and_one_machine_have_the_same_rules(places: InstallationPaths, settings: Settings) -> None:
    """Both are one file; the numbers in it are no variables."""
    template = (ROOT / "roles/nginx/templates/groundcrew.conf.j2").read_text()
    assert template == nginx.TEMPLATES.joinpath(nginx.SITE).read_text()
    given = set(re.findall(r"{{ (\w+)", template))
    assert given == {
        "nginx_port",
        "address",
        "nginx_tls_certificate",
        "nginx_tls_key",
        "nginx_static",
        "nginx_portal_socket",
        "nginx_stream_socket",
        "nginx_upload_bytes",
        "nginx_notebook_names",
        "nginx_portal_url",
    }
    on_servers = read("roles/nginx/vars/main.yml")
    assert on_servers["nginx_upload_bytes"] == settings.upload_limit_bytes
    assert on_servers["nginx_connections"] == nginx.CONNECTIONS


def test_nginx_sees_no_setting_of_the_services(places: InstallationPaths, settings: Settings) -> None:
    ensure_nginx_configuration(places, settings)
    script = (places.nginx_dir / "start").read_text()
    assert "exec env -i prlimit" in script and "--no-new-privs" in script
    every = "".join(file.read_text() for file in places.nginx_dir.iterdir() if file.is_file())
    assert settings.secret_key not in every


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: without it everything is one user's")
def test_as_root_nginx_is_a_user_that_no_job_is_and_owns_its_scratch_alone(
    places: InstallationPaths, settings: Settings
) -> None:
    ensure_nginx_configuration(places, settings)
    copy_static_files(places, settings)
    assert "--reuid=100000 --regid=100000 --clear-groups --inh-caps=-all /" in start_of(places)
    for file in places.nginx_dir.rglob("*"):
        about = file.stat()
        assert (about.st_uid, about.st_gid) == (100000 if file.name == "temp" else 0, 100000), file
        assert not stat.S_IMODE(about.st_mode) & 0o007, file
    ensure_nginx_configuration(places, replace(settings, port=443))
    assert "--inh-caps=-all,+net_bind_service --ambient-caps=+net_bind_service" in start_of(places)


def start_of(places: InstallationPaths) -> str:
    return (places.nginx_dir / "start").read_text()


def test_a_name_is_listened_on_by_its_address(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 8470))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked: found)
    assert nginx.listening_address(replace(settings, host="gpu.lab.example")) == "192.0.2.7:8470"


@pytest.mark.parametrize("status", ANSWERS)
def test_what_nginx_answers_itself_is_said_in_both_languages(status: str) -> None:
    page = (FRONT / f"{status}.html").read_text()
    assert page.startswith('<!doctype html>\n<html lang="en">') and '<section lang="ko">' in page
    assert re.search("[가-힣]{2}", page) and "style=" not in page and "<script" not in page


@pytest.mark.parametrize("status", ["413", "429", "503"])
def test_rest_hears_it_as_problem_details(status: str) -> None:
    body = json.loads((FRONT / f"{status}.json").read_text())
    assert (body["status"], body["code"]) == (int(status), f"http.{status}")
    assert re.search("[가-힣]{2}", body["detail"])


def test_only_the_page_that_waits_for_the_portal_loads_itself_again() -> None:
    assert [each for each in ANSWERS if "http-equiv" in (FRONT / f"{each}.html").read_text()] == ["503"]
