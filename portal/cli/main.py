"""The root of the `groundcrew` command."""

import sys
from http.client import HTTPException
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from .client import EXIT_AUTH, NO_ANSWER, RestClient, exit_with
from .config import Config, read_config, save_authority, save_config
from .http_request import fetch_authority
from .messages import message
from .output import Table, output_option, show_table
from .version import VERSION

COMMANDS = {
    "accounting": ("accounting", "accounting"),
    "code": ("code", "code"),
    "dataset": ("datasets", "dataset"),
    "environment": ("environments", "environment"),
    "hosts": ("nodes", "print_nodes"),
    "job": ("jobs", "job"),
    "node": ("nodes", "node"),
    "nodes": ("nodes", "print_nodes"),
    "notebook": ("trainings", "notebook"),
    "queue": ("queue", "queue"),
    "shell": ("ssh", "shell"),
    "ssh-config": ("ssh", "ssh_config"),
    "ssh-key": ("ssh", "ssh_key"),
    "sweep": ("sweeps", "sweep"),
    "top": ("nodes", "top"),
    "training": ("trainings", "training"),
}
"""Maps a name to a module of `commands` and its attribute, so that only the module of the typed command is loaded."""


class LazyGroup(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*super().list_commands(context), *COMMANDS})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return super().get_command(context, name)
        module, attribute = COMMANDS[name]
        command: click.Command = getattr(import_module(f".commands.{module}", __package__), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="groundcrew", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Groundcrew from the command line. GROUNDCREW_URL and GROUNDCREW_TOKEN say where and who."""
    if context.invoked_subcommand not in ("login", "completion") and not context.resilient_parsing:
        context.obj = LazyClient()


class LazyClient(RestClient):
    """Reads the configuration at the first request, because `--help` needs none."""

    def __init__(self) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        RestClient.__init__(self, read_config())
        return getattr(self, name)


@main.command()
@click.option("--url", prompt=message("Server address"))
@click.option("--token", default="", help="Else it is asked for, or read from the standard input.")
@click.option("--ca-file", default="", help="Certificate of the installation's own CA.")
@click.option("--fingerprint", default="", help="SHA-256 of that certificate, which the server then sends.")
def login(url: str, token: str, ca_file: str, fingerprint: str) -> None:
    """Save the server address and an API token for this user."""
    token = token or read_token()
    if fingerprint:
        ca_file = str(fetch_trusted_authority(url, fingerprint))
    config = Config(url.rstrip("/"), token, ca_file)
    RestClient(config).get("/workspaces")
    click.echo(message("Saved to {path}.", path=save_config(config)))


def read_token() -> str:
    """Prompts for the token without showing it; reads the first line of the standard input if that is a pipe."""
    if sys.stdin.isatty():
        return str(click.prompt(message("API token (from your profile page)"), hide_input=True))
    return sys.stdin.readline().strip()


def fetch_trusted_authority(url: str, fingerprint: str) -> Path:
    """The file where the server's authority was saved; ends the command if it has another fingerprint."""
    try:
        certificate = fetch_authority(url, fingerprint)
    except (OSError, HTTPException) as error:
        exit_with(message(NO_ANSWER, url=url, reason=error))
    if certificate is None:
        exit_with(
            message("{url} has another authority than this fingerprint: nothing was saved.", url=url),
            EXIT_AUTH,
        )
    return save_authority(certificate)


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion of a shell: eval "$(groundcrew completion bash)"."""
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(completion_class(main, {}, "groundcrew", "_GROUNDCREW_COMPLETE").source())


@main.group()
def workspace() -> None:
    """Workspaces that you work in."""


@workspace.command("list")
@output_option
@click.pass_obj
def list_workspaces(client: RestClient, output: str | None) -> None:
    """Workspaces with their quota and term."""
    show_table(client.get("/workspaces")["items"], WORKSPACES, output)


WORKSPACES = Table(
    lambda row: row["name"],
    {
        "Workspace": lambda row: row["name"],
        "State": lambda row: row["state_word"],
        "Units": lambda row: row["units"],
        "In use": lambda row: row["units_in_use"],
        "Storage": lambda row: describe_storage(row),
        "Term": lambda row: f"{row['starts_on']} – {row['ends_on']}",
        "Manager": lambda row: row["manager"],
    },
)


def describe_storage(row: dict[str, Any]) -> str:
    sizes = (row["storage_used_bytes"], row["storage_limit_bytes"])
    return " / ".join("–" if size is None else f"{size / 1024**3:.1f} GiB" for size in sizes)


@workspace.command("limit-storage")
@click.argument("name")
@click.argument("size")
@click.pass_obj
def limit_storage(client: RestClient, name: str, size: str) -> None:
    """Limit what a workspace may store: 500GiB, 2TiB, or none. For administrators."""
    from .commands import submission
    from .commands.trainings import find_workspace

    body = {"limit_bytes": None if size == "none" else submission.parse_size(size)}
    client.post(f"/workspaces/{find_workspace(client, name)}/storage-limit", body)
    click.echo(message("The storage limit of {name} is saved.", name=name))
