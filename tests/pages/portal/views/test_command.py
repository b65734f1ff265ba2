"""The portal serves the command as one file; its page says how to compare the authority and sign in."""

import dataclasses
import html
import re
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.serving import make_server

from cluster.services.context import Cluster
from cluster.services.people import api_tokens, sessions
from portal.command_file import build_command_file
from portal.shared_objects import share_object
from portal.web.route_permissions import ROUTE_RULES, RouteRule
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate

TRAININGS = "vision/private-idea\nvision/own-code\nvision/digits-lenet\n"
NOBODY = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
"""No module path, no packages: what a researcher's machine has."""


@pytest.fixture
def address(lab: Lab, tmp_path: Path) -> Iterator[str]:
    """A portal with TLS by an authority of its own, over a real socket."""
    folder = tmp_path / "tls"
    folder.mkdir()
    ensure_authority(folder, "Groundcrew of a test")
    ensure_certificate(folder, ["127.0.0.1"])
    app = lab.app
    settings = dataclasses.replace(lab.cluster.settings, authority_file=folder / "authority.pem")
    share_object(app, Cluster, dataclasses.replace(lab.cluster, settings=settings))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "portal.pem", folder / "portal.key")
    server = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=context)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join(10)
    server.server_close()


def in_a_terminal(line: str, home: Path, typed: str = "") -> subprocess.CompletedProcess[str]:
    environment = NOBODY | {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    return subprocess.run(
        ["sh", "-ec", line],
        cwd=home,
        env=environment,
        input=typed,
        text=True,
        capture_output=True,
        check=False,
    )


def test_the_two_lines_of_the_profile_install_the_command_and_sign_it_in(
    lab: Lab, address: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    session = sessions.begin_session(lab.cluster, lab.seoyeon.id, "192.0.2.1", "a test")
    cookie = {"Cookie": f"gc_session_{lab.cluster.settings.port}={session}; gc_language=en"}
    page = lab.app.test_client(use_cookies=False).get("/profile", base_url=address, headers=cookie)
    fetch, sign_in = re.findall(r'<code id="command-\d">(.*?)</code>', page.get_data(as_text=True))
    fetched = in_a_terminal(html.unescape(fetch), home)
    assert fetched.returncode == 0 and fetched.stdout == "groundcrew: OK\n", fetched.stderr
    _, token = api_tokens.create_api_token(lab.cluster, actor_of(lab.seoyeon), "laptop", ["read"], 30)
    signed_in = in_a_terminal(f"{html.unescape(sign_in)} --token {token}", home)
    assert signed_in.returncode == 0, signed_in.stderr
    assert in_a_terminal("./groundcrew training list -o name", home).stdout == TRAININGS
    assert in_a_terminal("./groundcrew training list -o yaml", home).stdout.startswith(
        "- archived_at: null\n  code_version: null\n"
    )
    modes = {file.name: file.stat().st_mode & 0o777 for file in (home / ".config/groundcrew").iterdir()}
    assert modes["config.toml"] == 0o600 and "authority.pem" in modes


def test_another_authority_than_the_fingerprint_is_not_trusted(address: str, tmp_path: Path) -> None:
    (tmp_path / "groundcrew").write_bytes(build_command_file().content)
    line = f"{sys.executable} groundcrew login --url {address} --token gc_1_secret --fingerprint {'0' * 64}"
    refused = in_a_terminal(line, tmp_path)
    assert refused.returncode == 3 and "nothing was saved" in refused.stderr
    assert not (tmp_path / ".config").exists()


def test_without_an_authority_of_its_own_none_is_given_out(lab: Lab) -> None:
    assert lab.app.test_client().get("/authority.pem").status_code == 404
    assert "--fingerprint" not in lab.browser(lab.seoyeon).get("/profile").get_data(as_text=True)


def test_everybody_may_fetch_both(lab: Lab) -> None:
    file = lab.app.test_client().get("/groundcrew.pyz")
    assert (file.data, file.get_etag()[0]) == (build_command_file().content, build_command_file().sha256)
    assert {ROUTE_RULES[f"command.{name}"] for name in ("program", "authority")} == {RouteRule.ANYONE}
