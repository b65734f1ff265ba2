"""What may be typed behind ``make up`` and its companions."""

import argparse
from dataclasses import dataclass

from worker.embedded.say import stop

LOOPBACK = {"127.0.0.1", "localhost"}


@dataclass(frozen=True)
class Options:
    port: int | None
    host: str | None
    yes: bool
    keep: bool
    flies: bool


def parse_options(arguments: list[str]) -> Options:
    """Ends with a sentence where a value cannot be used."""
    parser = argparse.ArgumentParser(prog="make")
    parser.add_argument("--port")
    parser.add_argument("--host")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--no-flight", action="store_true")
    parsed = parser.parse_args(arguments)
    return Options(
        check_port_number(parsed.port), check_host(parsed.host), parsed.yes, parsed.keep, not parsed.no_flight
    )


def check_port_number(typed: str | None) -> int | None:
    if typed is None:
        return None
    if not (typed.isascii() and typed.isdigit() and 1 <= int(typed) <= 65535):
        stop("PORT={typed} is not a port: a number from 1 to 65535, for example PORT=8471.", typed=typed)
    return int(typed)


def check_host(typed: str | None) -> str | None:
    """Another address would carry passwords in the clear: it needs TLS, which make up does not set up."""
    if typed is not None and typed not in LOOPBACK:
        stop(
            "HOST={typed} is refused: without TLS, passwords would cross the network in the clear. "
            "Leave HOST away; the portal then answers at 127.0.0.1, and other machines reach it "
            "by the ssh line that make up prints.",
            typed=typed,
        )
    return typed
