"""git connects to checked addresses; the secret is in a file, and in no option or variable."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from cluster.domain.errors import Refused, Unavailable
from cluster.domain.jobs.unix_ids import UnixIds
from cluster.domain.states import GitCredential
from cluster.services.git.fetch_orders import FetchOrder
from worker.git import git_connection
from worker.git.git_connection import UNPRIVILEGED, FetchRules, GitConnection, resolve_addresses

SECRET = "s/e@c:ret"


@pytest.fixture(autouse=True)
def _name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"git.lab.example": ["203.0.113.7", "2001:db8::7"], "inside.example": ["10.244.0.9"]}
    monkeypatch.setattr(git_connection, "resolve_addresses", lambda target: known[target.host])


def connect(url: str, credential: GitCredential, hosts: tuple[str, ...] = ()) -> GitConnection:
    training = SimpleNamespace(id=1)
    order = FetchOrder(training, url, "main", "", credential, "bot", "noted\n", SECRET)  # type: ignore[arg-type]
    return GitConnection(order, FetchRules(hosts, (), False, UnixIds(7, 8)), Path("/var/tmp/x y"))


def test_https_is_pinned_and_its_token_is_in_a_file() -> None:
    found = connect("https://git.lab.example/net.git", GitCredential.TOKEN)
    assert found.options["http.curloptResolve"] == "git.lab.example:443:203.0.113.7,[2001:db8::7]"
    assert found.options["protocol.https.allow"] == "always"
    assert found.options["credential.helper"] == "store --file='/var/tmp/x y/credentials'"
    assert found.private_files["credentials"] == "https://bot:s%2Fe%40c%3Aret@git.lab.example\n"
    assert SECRET not in str(found.options) + str(found.variables) + str(found.about)
    assert (found.variables, found.ids) == ({}, UnixIds(7, 8))


def test_ssh_is_pinned_and_knows_the_noted_key_alone() -> None:
    found = connect("git@git.lab.example:net.git", GitCredential.DEPLOY_KEY)
    command = found.variables["GIT_SSH_COMMAND"]
    for word in (
        "-F none", "HostName=203.0.113.7", "HostKeyAlias=git.lab.example", "StrictHostKeyChecking=accept-new",
        "ProxyCommand=none", "BatchMode=yes", "'IdentityFile=/var/tmp/x y/key'",
    ):  # fmt: skip
        assert word in command
    assert found.options == {"protocol.ssh.allow": "always"}
    assert found.private_files == {"known_hosts": "noted\n", "key": SECRET}
    assert found.ids == UNPRIVILEGED


def test_an_address_inside_is_refused_before_anything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_connection, "resolve_addresses", lambda target: ["203.0.113.7", "127.0.0.1"])
    with pytest.raises(Refused) as refused:
        connect("https://git.lab.example/net.git", GitCredential.NONE)
    assert refused.value.code == "git.host_not_allowed"
    connect("https://git.lab.example/net.git", GitCredential.NONE, ("git.lab.example",))


def test_a_name_that_nobody_knows() -> None:
    target = connect("https://git.lab.example/net.git", GitCredential.NONE).target
    with pytest.raises(Unavailable):
        resolve_addresses(SimpleNamespace(host="no such host", port=target.port))  # type: ignore[arg-type]
