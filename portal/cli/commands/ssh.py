"""SSH into one's running jobs: `groundcrew ssh-key …` keeps the public keys, `groundcrew ssh-config` writes entries.

`groundcrew shell` opens an interactive job, as `srun --pty` does. The job ends with the shell.
"""

import os
import re
import shutil
import socket
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

import click

from ..client import EXIT_CONFLICT, EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, RestClient, exit_with
from ..messages import message
from ..output import Table, local_datetime, output_option, show_table
from .submission import find_training, parse_size_option, parse_time_limit, submit_request

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
    door = check_door(client)
    folder = Path.home() / ".ssh"
    text = render_entries(door, folder / KNOWN_HOSTS)
    if only_print:
        click.echo(text, nl=False)
        return
    write_known_hosts(door)
    write_entries(folder, text)
    click.echo(message("Written to {path}. Now: ssh job-<number>", path=folder / CONFIG))


def check_door(client: RestClient) -> Any:
    """Returns the door's address. Ends the command if the door is closed or the address would be options of ssh."""
    door: Any = client.get("/ssh-door")
    if not door["is_open"]:
        exit_with(door["reason"]["sentence"], EXIT_CONFLICT)
    host = str(door["host"])
    is_host = host[:1].isalnum() or host.startswith(":")
    if not is_host or not all(sign.isalnum() or sign in ".:-" for sign in host) or "\n" in door["host_key"]:
        exit_with(message("The server sent an address that is none: {host}", host=host[:80]))
    return door


def render_entries(door: Any, known_hosts: Path) -> str:
    return TEMPLATE.format(host=door["host"], port=int(door["port"]), known_hosts=f'"{known_hosts}"')


def write_known_hosts(door: Any) -> Path:
    path = Path.home() / ".ssh" / KNOWN_HOSTS
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(f"groundcrew-door {door['host_key']}\n")
    return path


def write_entries(folder: Path, text: str) -> None:
    (folder / CONFIG).write_text(text)
    main = folder / "config"
    before = main.read_text() if main.exists() else ""
    if INCLUDE not in before.splitlines():
        # ssh reads from the top, and an Include beneath a Host would belong to it.
        unfinished = folder / ".config.groundcrew"
        unfinished.write_text(f"{INCLUDE}\n\n{before}")
        unfinished.chmod(main.stat().st_mode & 0o777 if main.exists() else 0o600)
        unfinished.replace(main)


PROGRAM = ("python", "-m", "groundcrew_shell")
"""Submits the job, which waits ten minutes for its shell and ends with it."""
OPENING = "exec python3 -m groundcrew_shell open"
POLL_SECONDS = 0.5
EXIT_INTERRUPTED = 130


@click.command()
@click.option(
    "-t", "--training", required=True, metavar="[WORKSPACE/]NAME", help="Its code is where you begin."
)
@click.option("-n", "--name", default="shell")
@click.option("-d", "--dataset", metavar="NAME")
@click.option("-e", "--environment", metavar="NAME", help="Without it the one of the training.")
@click.option(
    "--memory", metavar="12GiB|800MiB", callback=parse_size_option, help="Instead of its unit's share."
)
@click.option(
    "--time-limit",
    default="8h",
    show_default=True,
    metavar="30m|2h|1d",
    callback=parse_time_limit,
    help="When the shell ends at the latest; a bare number is minutes.",
)
@click.option("-i", "--identity", metavar="FILE", help="Your private key, if ssh does not find it by itself.")
@click.pass_obj
def shell(client: RestClient, /, training: str, identity: str | None, **asked: Any) -> None:
    """Open a shell on a unit of your own: a job that ends with the shell."""
    ssh = shutil.which("ssh")
    if ssh is None:
        exit_with(message("This machine has no ssh: install the OpenSSH client."), EXIT_USAGE)
    door = check_door(client)
    if not client.get("/ssh-keys")["items"]:
        exit_with(message("You have no SSH key here. Add one first: groundcrew ssh-key add"), EXIT_USAGE)
    if find_training(client, training)["model"]:
        exit_with(
            message("{name} is of a built-in model. A shell needs a training of own code.", name=training),
            EXIT_USAGE,
        )
    job: dict[str, Any] = submit_request(
        client,
        "/jobs",
        dry_run=False,
        training=training,
        command=PROGRAM,
        launcher="plain",
        grace=None,
        **asked,
    )
    click.echo(message("job-{id} submitted.", id=job["id"]), err=True)
    wait_for_start(client, job["id"])
    until = datetime.now(UTC) + timedelta(seconds=asked["time_limit"])
    click.echo(
        message(
            "job-{id} ends with this shell, with its connection, and at {until} at the latest.",
            id=job["id"],
            until=local_datetime(until.isoformat()),
        ),
        err=True,
    )
    enter(ssh, door, job["id"], identity)


def wait_for_start(client: RestClient, job_id: int) -> None:
    """Prints why the job waits, and each new reason. Ends the command if the job ends, and the job with ^C."""
    shown = ""
    try:
        while (row := client.get(f"/jobs/{job_id}"))["state"] in ("waiting", "starting"):
            reason = (row.get("waiting") or {}).get("sentence") or row["state_word"]
            if reason != shown:
                click.echo(reason, err=True)
            shown = reason
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        client.post(f"/jobs/{job_id}/stop")
        exit_with(message("job-{id} is being stopped.", id=job_id), EXIT_INTERRUPTED)
    if row["state"] != "running":
        exit_with((row.get("end") or {}).get("sentence") or row["state_word"], EXIT_FAILED)


def enter(ssh: str, door: Any, job_id: int, identity: str | None) -> NoReturn:
    """Becomes ssh, whose exit code is the shell's."""
    options = {
        "HostKeyAlias": "groundcrew-door",
        "UserKnownHostsFile": f'"{write_known_hosts(door)}"',
        "StrictHostKeyChecking": "yes",
        "ControlPath": "none",
        # The person's own configuration may forward ports or agents, which the door refuses.
        "ClearAllForwardings": "yes",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ServerAliveInterval": "15",
        "LogLevel": "ERROR",
    }
    words = [ssh, "-t", "-p", str(door["port"])]
    words += [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    words += ["-i", identity] if identity else []
    sys.stdout.flush()
    os.execv(ssh, [*words, "--", f"job-{job_id}@{door['host']}", OPENING])
