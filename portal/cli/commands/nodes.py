"""`groundcrew node …`: list, show, drain, undrain, forget. `groundcrew nodes` and `hosts` list nodes, `top` units."""

from typing import Any

import click

from ..client import EXIT_AUTH, EXIT_NOT_FOUND, RestClient, exit_unless_confirmed, exit_with
from ..messages import message
from ..output import (
    Table,
    local_datetime,
    output_option,
    readable_percent,
    readable_size,
    show_facts,
    show_table,
)


@click.group()
def node() -> None:
    """Nodes of the cluster."""


@node.command("list")
@output_option
@click.pass_obj
def print_nodes(client: RestClient, output: str | None) -> None:
    """Nodes with their units."""
    show_table(client.get("/nodes")["items"], NODES, output)


NODES = Table(
    lambda row: row["name"],
    {
        "Node": lambda row: row["name"],
        "State": lambda row: row["state_word"],
        "Units": lambda row: row["units"],
        "Free": lambda row: row["units_free"],
        "Last heartbeat": lambda row: local_datetime(row["heartbeat_at"]),
        "Why": lambda row: row["drain_reason"] or row["reason"] or "",
    },
)


@click.command()
@output_option
@click.pass_obj
def top(client: RestClient, output: str | None) -> None:
    """Every unit: which job holds it, and what a GPU does now."""
    show_table(client.get("/nodes/units")["items"], UNITS, output)


def readable_degrees(row: dict[str, Any]) -> str:
    return "" if row["temperature"] is None else f"{row['temperature']:.0f} °C"


UNITS = Table(
    lambda row: f"{row['node']}/{row['position'] + 1}",
    {
        "Node": lambda row: row["node"],
        "Unit": lambda row: row["position"] + 1,
        "Model": lambda row: row["model"] + (f" ({message('simulated')})" if row["simulated"] else ""),
        "State": lambda row: row["state"],
        "Job": lambda row: f"job-{row['job_id']}" if row["job_id"] else "",
        "Used": lambda row: readable_percent(row["utilisation"]),
        "Memory": lambda row: readable_size(row["memory_used_bytes"]),
        "Temperature": readable_degrees,
        "Power": lambda row: "" if row["power"] is None else f"{row['power']:.0f} W",
    },
)


def fetch_node(client: RestClient, name: str) -> dict[str, Any]:
    """Fetch a node by name, with the jobs that hold its units."""
    ids = [row["id"] for row in client.get("/nodes")["items"] if row["name"] == name]
    if not ids:
        exit_with(message("No node is called {name}.", name=name), EXIT_NOT_FOUND)
    row: dict[str, Any] = client.get(f"/nodes/{ids[0]}")
    return row


@node.command()
@click.argument("name")
@output_option
@click.pass_obj
def show(client: RestClient, name: str, output: str | None) -> None:
    """One node, and which jobs hold units there."""
    row: Any = fetch_node(client, name)
    show_facts(
        row,
        name,
        lambda: {
            "Node": row["name"],
            "State": row["state_word"],
            "Why": row["drain_reason"] or row["reason"],
            "Units": row["units"],
            "Free": row["units_free"],
            "Last heartbeat": local_datetime(row["heartbeat_at"]),
            "Jobs": ", ".join(f"job-{run['job_id']}" for run in row["running"]),
        },
        output,
    )


@node.command()
@click.argument("name")
@click.option("-r", "--reason", required=True, help="Whoever finds it closed reads this.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def drain(client: RestClient, name: str, reason: str, yes: bool) -> None:
    """Let nothing new start on a node. Says first whom it touches."""
    row = fetch_node(client, name)
    require_right_to_drain(row)
    for run in row["running"]:
        until = local_datetime(run["ends_at"]) if run["ends_at"] else message("when is not known")
        click.echo(message("job-{id} goes on to its end: {until}.", id=run["job_id"], until=until))
    if row["too_large_elsewhere"]:
        jobs = ", ".join(f"job-{job}" for job in row["too_large_elsewhere"])
        click.echo(message("They fit on no other node and go on waiting: {jobs}.", jobs=jobs))
    exit_unless_confirmed(message("Drain {name}?", name=name), yes)
    client.post(f"/nodes/{row['id']}/drain", {"reason": reason})
    click.echo(message("{name} is being drained.", name=name))


@node.command()
@click.argument("name")
@click.pass_obj
def undrain(client: RestClient, name: str) -> None:
    """Open a drained node again."""
    client.post(f"/nodes/{fetch_node(client, name)['id']}/undrain")
    click.echo(message("{name} takes jobs again.", name=name))


@node.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def forget(client: RestClient, name: str, yes: bool) -> None:
    """Forget a node that was removed. A job that runs there keeps it."""
    row = fetch_node(client, name)
    require_right_to_drain(row)
    exit_unless_confirmed(message("Forget {name} and its units?", name=name), yes)
    client.delete(f"/nodes/{row['id']}")
    click.echo(message("{name} is forgotten.", name=name))


def require_right_to_drain(row: dict[str, Any]) -> None:
    """Ends the command before it asks a question whose answer would be refused. The server checks it again."""
    if not row["may_drain"]:
        exit_with(message("Only administrators drain, open and forget nodes."), EXIT_AUTH)
