"""SSH into one's running jobs: `groundcrew ssh-key …` keeps the public keys, `groundcrew ssh-config` writes entries."""

import re
import socket
import sys
from pathlib import Path
from typing import Any

import click

from .client import EXIT_CONFLICT, EXIT_NOT_FOUND, EXIT_USAGE, RestClient, exit_with
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


CONFIG, KNOWN_HOSTS = "groundcrew_config", "groundcrew_known_hosts"
INCLUDE = f"Include {CONFIG}"
TEMPLATE = """# Written by groundcrew ssh-config: `ssh job-42` enters a running job, and so do scp, rsync and editors.
Host groundcrew-door
    HostName {host}
    Port {port}
    HostKeyAlias groundcrew-door
    UserKnownHostsFile {known_hosts}
    StrictHostKeyChecking yes
    ControlPath none

# The connection to the job goes through the one to the door, whose key is checked above.
Host job-*
    User job
    ProxyCommand ssh -q %n@groundcrew-door groundcrew-sshd
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""


@click.command("ssh-config")
@click.option("--print", "only_print", is_flag=True, help="Print the entries and write nothing.")
@click.pass_obj
def ssh_config(client: RestClient, only_print: bool) -> None:
    """Write the entries for ssh and editors into ~/.ssh, where `ssh job-42` then enters a running job."""
    door: Any = client.get("/ssh-door")
    if not door["is_open"]:
        exit_with(door["reason"]["sentence"], EXIT_CONFLICT)
    folder = Path.home() / ".ssh"
    text = render_entries(door, folder / KNOWN_HOSTS)
    if only_print:
        click.echo(text, nl=False)
        return
    write_entries(folder, text, door["host_key"])
    click.echo(message("Written to {path}. Now: ssh job-<number>", path=folder / CONFIG))


def render_entries(door: Any, known_hosts: Path) -> str:
    """Refuses an answer that would bring lines of its own into the configuration."""
    host, port = str(door["host"]), int(door["port"])
    if not host or not all(sign.isalnum() or sign in ".:-" for sign in host) or "\n" in door["host_key"]:
        exit_with(message("The server sent an address that is none: {host}", host=host[:80]))
    return TEMPLATE.format(host=host, port=port, known_hosts=f'"{known_hosts}"')


def write_entries(folder: Path, text: str, host_key: str) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / KNOWN_HOSTS).write_text(f"groundcrew-door {host_key}\n")
    (folder / CONFIG).write_text(text)
    main = folder / "config"
    before = main.read_text() if main.exists() else ""
    if INCLUDE not in before.splitlines():
        # ssh reads from the top, and an Include beneath a Host would belong to it.
        unfinished = folder / ".config.groundcrew"
        unfinished.write_text(f"{INCLUDE}\n\n{before}")
        unfinished.chmod(main.stat().st_mode & 0o777 if main.exists() else 0o600)
        unfinished.replace(main)
