"""The login names a job; the command says what is to run there, and nothing else decides it."""

import pytest

from cluster.domain.ssh_logins import (
    SshSessionKind,
    parse_ssh_login,
    parse_ssh_request,
    ssh_client_address,
    terminal_name,
)


@pytest.mark.parametrize(
    ("login", "job"),
    [
        ("job-42", 42),
        ("job-0", None),
        ("job-042", None),
        ("job--1", None),
        ("job-42 ", None),
        ("job-42\n", None),
        ("root", None),
        ("job-٤٢", None),
        ("job-9999999999", None),
        ("", None),
    ],
)
def test_a_login_names_a_job(login: str, job: int | None) -> None:
    assert parse_ssh_login(login) == job


@pytest.mark.parametrize(
    ("command", "kind", "argv"),
    [
        ("", SshSessionKind.SHELL, ("/bin/bash",)),
        ("groundcrew-sftp", SshSessionKind.SFTP, ("/usr/lib/openssh/sftp-server",)),
        ("groundcrew-sftp -u 0", SshSessionKind.COMMAND, ("/bin/bash", "-c", "groundcrew-sftp -u 0")),
        ("rsync --server . x", SshSessionKind.COMMAND, ("/bin/bash", "-c", "rsync --server . x")),
        (
            "groundcrew-sshd",
            SshSessionKind.INNER,
            ("/usr/sbin/sshd", "-i", "-e", "-f", "/etc/ssh/inner_config"),
        ),
    ],
)
def test_a_command_decides_what_runs(command: str, kind: SshSessionKind, argv: tuple[str, ...]) -> None:
    request = parse_ssh_request(command)
    assert (request.kind, request.argv) == (kind, argv)


def test_a_terminal_has_a_plain_name() -> None:
    names = {"xterm-256color": "xterm-256color", "../../x": "xterm", "a\nb": "xterm", "": "xterm", None: None}
    assert {told: terminal_name(told) for told in names} == names


def test_the_address_is_the_clients() -> None:
    assert ssh_client_address("192.0.2.7 50022 192.0.2.1 2222") == "192.0.2.7"
    assert ssh_client_address("") == ""
