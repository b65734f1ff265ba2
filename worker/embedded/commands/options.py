"""Parse the options of ``make up`` and the other commands."""

import argparse
import re
import socket
from dataclasses import dataclass

import psutil

from worker.bootstrap.terminal import exit_with_error

LOOPBACK = {"127.0.0.1", "localhost"}
EVERYWHERE = {"0.0.0.0", "0"}
"""These addresses get no certificate, because it needs a name that people type."""
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True)
class MakeOptions:
    port: int | None
    host: str | None
    is_confirmed: bool
    keeps_jobs_running: bool
    with_first_training: bool


def parse_make_options(arguments: list[str]) -> MakeOptions:
    """Parses the options. Ends the command with a sentence if a value cannot be used."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("--port")
    parser.add_argument("--host")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--no-first-training", action="store_true")
    parsed = parser.parse_args(arguments)
    return MakeOptions(
        parse_port_option(parsed.port),
        parse_host_option(parsed.host),
        parsed.yes,
        parsed.keep,
        not parsed.no_first_training,
    )


def parse_port_option(typed: str | None) -> int | None:
    if typed is None:
        return None
    if not (typed.isascii() and typed.isdigit() and 1 <= int(typed) <= 65535):
        exit_with_error(
            "PORT={typed} is not a port: a number from 1 to 65535, for example PORT=8471.", typed=typed
        )
    return int(typed)


def parse_host_option(typed: str | None) -> str | None:
    """An address of this machine, or a name that leads to one: people type it, and the certificate is for it."""
    if typed is None:
        return None
    if typed in LOOPBACK:
        return "127.0.0.1"
    if not NAME.fullmatch(typed) or typed in EVERYWHERE or not is_address_of_machine(typed):
        exit_with_error(
            "HOST={typed} is no address of this machine, and no name that leads to one. Its address as others "
            "see it: {known}",
            typed=typed,
            known=", ".join(list_machine_addresses()),
        )
    return typed.lower()


def is_address_of_machine(host: str) -> bool:
    """Whether the text is a numeric address of this machine. A name is not, as /etc/hosts may map it to loopback."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
            return host == probe.getsockname()[0] or not probe.getsockname()[0].startswith("127.")
    except OSError:
        return False


def list_machine_addresses() -> list[str]:
    """The IPv4 addresses of this machine without loopback."""
    found = [each for entries in psutil.net_if_addrs().values() for each in entries]
    addresses = [each.address for each in found if each.family == socket.AF_INET]
    return [address for address in addresses if not address.startswith("127.")]
