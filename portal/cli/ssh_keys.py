"""`groundcrew ssh-key …`: list, add and remove the public keys with which you enter your running jobs."""

import re
import socket
import sys
from pathlib import Path
from typing import Any

import click

from .client import EXIT_NOT_FOUND, EXIT_USAGE, RestClient, exit_with
from .messages import message
from .output import Table, local_datetime, output_option, show_table

FOUND_NAMES = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")
"""The files that ssh-keygen writes, the best first."""


@click.group("ssh-key")
def ssh_key() -> None:
    """Public keys with which you enter your running jobs."""


@ssh_key.command("list")
@output_option
@click.pass_obj
def list_keys(client: RestClient, output: str | None) -> None:
    """Your SSH keys."""
    show_table(client.get("/ssh-keys")["items"], KEYS, output)


KEYS = Table(
    lambda row: row["name"],
    {
        "Name": lambda row: row["name"],
        "Fingerprint": lambda row: row["fingerprint"],
        "Last used": lambda row: local_datetime(row["used_at"]),
        "Ends": lambda row: local_datetime(row["ends_at"]),
    },
)


@ssh_key.command()
@click.argument("file", required=False)
@click.option("--name", default="", help="What it is called; without it the name of this machine.")
@click.pass_obj
def add(client: RestClient, file: str | None, name: str) -> None:
    """Add a public key: of FILE, of ~/.ssh, or of standard input with “-”. It ends with the token of this command."""
    body = {"name": name or machine_name(), "key": read_key(file)}
    row: Any = client.post("/ssh-keys", body)
    until = local_datetime(row["ends_at"])
    click.echo(message("{name} is added, until {until}: {fingerprint}", **row, until=until))


@ssh_key.command()
@click.argument("name")
@click.pass_obj
def remove(client: RestClient, name: str) -> None:
    """Remove a key by its name or fingerprint. Its sessions end within seconds."""
    found = [row for row in client.get("/ssh-keys")["items"] if name in (row["name"], row["fingerprint"])]
    if not found:
        exit_with(message("No key is called {name}.", name=name), EXIT_NOT_FOUND)
    client.delete(f"/ssh-keys/{found[0]['id']}")
    click.echo(message("{name} is removed.", name=found[0]["name"]))


def machine_name() -> str:
    name = re.sub(r"[^a-z0-9]+", "-", socket.gethostname().partition(".")[0].lower()).strip("-")
    return name[:50] or "key"


def read_key(file: str | None) -> str:
    """Never sends a file that is no public key. Ends the command if there is none."""
    if file == "-":
        return sys.stdin.read()
    candidates = [Path(file)] if file else [Path.home() / ".ssh" / name for name in FOUND_NAMES]
    path = next((each for each in candidates if each.is_file()), None)
    if path is None:
        exit_with(
            message("No public key is in {place}. Make one: ssh-keygen -t ed25519", place=file or "~/.ssh"),
            EXIT_USAGE,
        )
    text = path.read_text(errors="replace")
    if "PRIVATE KEY" in text:
        exit_with(message("{file} is a private key: name the file that ends in .pub.", file=path), EXIT_USAGE)
    return text
