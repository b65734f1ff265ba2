"""An option that names no port or no address of this machine is refused by name."""

import socket
from types import SimpleNamespace

import pytest

from worker.embedded.commands.options import list_machine_addresses, parse_make_options


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1", "８４７０", ""])
def test_a_port_that_is_none_is_refused_by_name(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_make_options([f"--port={port}"])
    assert f"PORT={port} is not a port" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "taken"), [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("127.0.0.2", "127.0.0.2")]
)
def test_an_address_of_this_machine_may_be_named(typed: str, taken: str) -> None:
    assert parse_make_options([f"--host={typed}"]).host == taken


@pytest.mark.parametrize("typed", ["192.0.2.7", "0.0.0.0", "", "two words", "a/b", "nowhere.invalid"])
def test_an_address_that_is_not_ours_is_refused_by_name(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_make_options([f"--host={typed}"])
    assert f"HOST={typed} is no address of this machine" in capsys.readouterr().err


def test_the_addresses_of_the_machine_are_those_of_its_interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(family: int, address: str) -> SimpleNamespace:
        return SimpleNamespace(family=family, address=address)

    interfaces = {
        "lo": [entry(socket.AF_INET, "127.0.0.1"), entry(socket.AF_INET6, "::1")],
        "eth0": [entry(socket.AF_INET, "192.0.2.7"), entry(socket.AF_INET6, "fd00::7")],
        "eth1": [entry(socket.AF_INET, "198.51.100.7"), entry(socket.AF_PACKET, "00:00:00:00:00:00")],
    }
    monkeypatch.setattr("psutil.net_if_addrs", lambda: interfaces)
    assert list_machine_addresses() == ["192.0.2.7", "198.51.100.7"]
