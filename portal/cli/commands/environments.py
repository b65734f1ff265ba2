"""`groundcrew environment …`: lists, adds, shows and deletes what jobs run in."""

from pathlib import Path
from typing import Any

import click

from ..client import RestClient, exit_unless_confirmed
from ..messages import message
from ..output import Table, local_datetime, output_option, readable_size, show_facts, show_table
from .submission import find_environment
from .trainings import find_workspace


@click.group()
def environment() -> None:
    """Environments: what jobs run in."""


@environment.command("list")
@output_option
@click.pass_obj
def list_(client: RestClient, output: str | None) -> None:
    """Environments that you may see, the default one first."""
    show_table(client.get("/environments")["items"], ENVIRONMENTS, output)


@environment.command()
@click.argument("name")
@output_option
@click.pass_obj
def show(client: RestClient, name: str, output: str | None) -> None:
    """One environment with what is in it."""
    row = read_environment(client, name)
    show_facts(row, row["name"], lambda: environment_facts(row), output)


def read_environment(client: RestClient, name: str) -> dict[str, Any]:
    number = find_environment(client, name)
    if number == 0:
        rows = client.get("/environments", name=name)["items"]
        number = rows[0]["id"] if rows else 0
    found: dict[str, Any] = client.get(f"/environments/{number}")
    return found


def environment_facts(row: dict[str, Any]) -> dict[str, Any]:
    versions = (f"{part['library']} {part['version']}" for part in row["contents"])
    return {
        "Environment": row["name"],
        "State": row["state"],
        "Why": (row["error"] or {}).get("sentence"),
        "Python": row["python"],
        "GPU": row["gpu_support"],
        "Workspaces": ", ".join(place["name"] for place in row["workspaces"]),
        "Trainings": row["use"]["trainings"],
        "Jobs": row["use"]["jobs"],
        "Size": readable_size(row["size_bytes"]),
        "Built": local_datetime(row["ready_at"]),
        "Libraries": ", ".join(versions),
        "Digest": row["digest"],
    }


@environment.command()
@click.argument("name")
@click.argument("requirements", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-w", "--workspace", "workspaces", multiple=True, help="Who may choose it; without it everybody."
)
@click.option("--description", default="")
@click.option("--python", default="", metavar="3.11", help="Without it that of the distribution.")
@click.option("--build-sources", is_flag=True, help="Build packages that the index has only as source.")
@click.pass_obj
def add(
    client: RestClient,
    name: str,
    requirements: Path,
    workspaces: tuple[str, ...],
    description: str,
    python: str,
    build_sources: bool,
) -> None:
    """Build an environment from a requirements.txt. For managers and administrators."""
    body = {
        "name": name,
        "requirements": requirements.read_text(encoding="utf-8", errors="replace"),
        "description": description,
        "python": python,
        "builds_sources": build_sources,
        "workspace_ids": [find_workspace(client, workspace) for workspace in workspaces],
    }
    made = client.post("/environments", body)
    click.echo(
        message("{name} is being built: op-{operation}.", name=made["name"], operation=made["operation_id"])
    )


@environment.command()
@click.argument("name")
@click.pass_obj
def approve(client: RestClient, name: str) -> None:
    """Build an environment that somebody has asked for from a notebook. For managers and administrators."""
    made = client.post(f"/environments/{find_environment(client, name)}/approve", {})
    click.echo(
        message("{name} is being built: op-{operation}.", name=made["name"], operation=made["operation_id"])
    )


@environment.command()
@click.argument("name")
@click.pass_obj
def decline(client: RestClient, name: str) -> None:
    """Decline an environment that somebody has asked for. Its name is free again."""
    client.request("POST", f"/environments/{find_environment(client, name)}/decline", body={})
    click.echo(message("{name} is declined.", name=name))


@environment.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(client: RestClient, name: str, yes: bool) -> None:
    """Delete an environment that no training names and in which no live job runs."""
    number = find_environment(client, name)
    exit_unless_confirmed(message("Delete {name} for good?", name=name), yes)
    client.delete(f"/environments/{number}")
    click.echo(message("{name} is deleted.", name=name))


ENVIRONMENTS = Table(
    lambda row: row["name"],
    {
        "Environment": lambda row: row["name"],
        "State": lambda row: row["state"],
        "Python": lambda row: row["python"],
        "GPU": lambda row: row["gpu_support"],
        "Workspaces": lambda row: ", ".join(place["name"] for place in row["workspaces"]),
        "Size": lambda row: readable_size(row["size_bytes"]),
        "Digest": lambda row: row["digest"].removeprefix("sha256:")[:12],
    },
)
