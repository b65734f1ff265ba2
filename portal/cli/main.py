"""The root of the `groundcrew` command."""

from importlib import import_module

import click

from .client import RestClient
from .config import Config, read_config, save_config
from .messages import message
from .output import output_option, show_table

COMMANDS = {
    "accounting": ("accounting", "accounting"),
    "hosts": ("nodes", "print_nodes"),
    "job": ("jobs", "job"),
    "node": ("nodes", "node"),
    "nodes": ("nodes", "print_nodes"),
    "queue": ("queue", "queue"),
    "sweep": ("sweeps", "sweep"),
}
"""Name → module and attribute: only the module of the command that was typed is loaded."""


class LazyGroup(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*super().list_commands(context), *COMMANDS})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return super().get_command(context, name)
        module, attribute = COMMANDS[name]
        command: click.Command = getattr(import_module(f".{module}", __package__), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def main(context: click.Context) -> None:
    """Groundcrew from the command line. GROUNDCREW_URL and GROUNDCREW_TOKEN say where and who."""
    if context.invoked_subcommand != "login" and not context.resilient_parsing:
        context.obj = LazyClient()


class LazyClient(RestClient):
    """Reads the configuration at the first request, so that `--help` needs none."""

    def __init__(self) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        RestClient.__init__(self, read_config())
        return getattr(self, name)


@main.command()
@click.option("--url", prompt=message("Server address"))
@click.option("--token", prompt=message("API token (from your profile page)"), hide_input=True)
@click.option("--ca-file", default="", help="Certificate of the installation's own CA.")
def login(url: str, token: str, ca_file: str) -> None:
    """Save the server address and an API token for this user."""
    config = Config(url.rstrip("/"), token, ca_file)
    RestClient(config).get("/workspaces")
    click.echo(message("Saved to {path}.", path=save_config(config)))


@main.group()
def workspace() -> None:
    """Workspaces that you work in."""


@workspace.command("list")
@output_option
@click.pass_obj
def list_workspaces(client: RestClient, output: str) -> None:
    """Workspaces with their quota and term."""
    columns = {
        "Workspace": lambda row: row["name"],
        "State": lambda row: row["state_word"],
        "Units": lambda row: row["units"],
        "In use": lambda row: row["units_in_use"],
        "Term": lambda row: f"{row['starts_on']} – {row['ends_on']}",
        "Manager": lambda row: row["manager"],
    }
    show_table(client.get("/workspaces")["items"], columns, output)
