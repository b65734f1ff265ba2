"""`groundcrew node …`: list, show, drain, undrain; `groundcrew nodes` and `hosts` are the list."""

from typing import Any

import click

from .client import EXIT_NOT_FOUND, EXIT_USAGE, Client, stop
from .output import clock, output_option, show_facts, show_table
from .words import say


@click.group()
def node() -> None:
    """Nodes of the cluster."""


@node.command("list")
@output_option
@click.pass_obj
def list_nodes(client: Client, output: str) -> None:
    """Nodes with their units."""
    columns = {
        "Node": lambda row: row["name"],
        "State": lambda row: row["state_word"],
        "Units": lambda row: row["units"],
        "Free": lambda row: row["units_free"],
        "Last heartbeat": lambda row: clock(row["heartbeat_at"]),
        "Why": lambda row: row["drain_reason"] or row["reason"] or "",
    }
    show_table(client.get("/nodes")["items"], columns, output)


def find_node(client: Client, name: str) -> dict[str, Any]:
    """With the jobs that hold units there."""
    ids = [row["id"] for row in client.get("/nodes")["items"] if row["name"] == name]
    if not ids:
        stop(say("No node is called {name}.", name=name), EXIT_NOT_FOUND)
    found: dict[str, Any] = client.get(f"/nodes/{ids[0]}")
    return found


@node.command()
@click.argument("name")
@output_option
@click.pass_obj
def show(client: Client, name: str, output: str) -> None:
    """One node, and which jobs hold units there."""
    row: Any = find_node(client, name)
    if output == "json":
        show_table(row, {}, output)
        return
    show_facts(
        {
            "Node": row["name"],
            "State": row["state_word"],
            "Why": row["drain_reason"] or row["reason"],
            "Units": row["units"],
            "Free": row["units_free"],
            "Last heartbeat": clock(row["heartbeat_at"]),
            "Jobs": ", ".join(f"job-{run['job_id']}" for run in row["running"]),
        }
    )


@node.command()
@click.argument("name")
@click.option("-r", "--reason", required=True, help="Whoever finds it closed reads this.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def drain(client: Client, name: str, reason: str, yes: bool) -> None:
    """Let nothing new start on a node. Says first whom it touches."""
    row = find_node(client, name)
    for run in row["running"]:
        until = clock(run["ends_at"]) if run["ends_at"] else say("when is not known")
        click.echo(say("job-{id} goes on to its end: {until}.", id=run["job_id"], until=until))
    if row["too_large_elsewhere"]:
        jobs = ", ".join(f"job-{job}" for job in row["too_large_elsewhere"])
        click.echo(say("They fit on no other node and go on waiting: {jobs}.", jobs=jobs))
    if not yes and not click.confirm(say("Drain {name}?", name=name)):
        stop(say("Nothing was changed."), EXIT_USAGE)
    client.post(f"/nodes/{row['id']}/drain", {"reason": reason})
    click.echo(say("{name} is being drained.", name=name))


@node.command()
@click.argument("name")
@click.pass_obj
def undrain(client: Client, name: str) -> None:
    """Open a drained node again."""
    client.post(f"/nodes/{find_node(client, name)['id']}/undrain")
    click.echo(say("{name} takes jobs again.", name=name))
