"""`groundcrew dataset …`: lists what trainings read."""

from pathlib import Path
from typing import Any

import click

from ..client import EXIT_NOT_FOUND, EXIT_USAGE, RestClient, exit_unless_confirmed, exit_with
from ..messages import message
from ..output import Table, output_option, readable_number, readable_size, show_table
from .remote_files import RemoteFiles, into_option, pull_files, show_folder
from .trainings import find_workspace


@click.group()
def dataset() -> None:
    """Datasets: what trainings read."""


@dataset.command("list")
@output_option
@click.pass_obj
def list_(client: RestClient, output: str | None) -> None:
    """Datasets that you may see, newest first."""
    show_table(client.get("/datasets")["items"], DATASETS, output)


def find_dataset(client: RestClient, name: str) -> dict[str, Any]:
    """NAME, or WORKSPACE/NAME if several workspaces have a dataset of that name."""
    workspace, _, short = name.rpartition("/")
    rows = client.get("/datasets", name=short)["items"]
    rows = [row for row in rows if workspace in ("", row["workspace"]["name"])]
    if not rows:
        exit_with(message("No dataset is called {name}.", name=name), EXIT_NOT_FOUND)
    if len(rows) > 1:
        exit_with(
            message("Several workspaces have a dataset {name}: write WORKSPACE/{name}.", name=short),
            EXIT_USAGE,
        )
    found: dict[str, Any] = rows[0]
    return found


@dataset.command()
@click.argument("name", metavar="WORKSPACE/NAME")
@click.argument("path")
@click.pass_obj
def register(client: RestClient, name: str, path: str) -> None:
    """Register a folder of the server's storage as a dataset. For the workspace's manager."""
    workspace, _, short = name.rpartition("/")
    body = {"workspace_id": find_workspace(client, workspace), "name": short, "path": path}
    made = client.post("/datasets", body)
    click.echo(f"{made['workspace']['name']}/{made['name']}")


@dataset.command()
@click.argument("name", metavar="WORKSPACE[/NAME]")
@click.argument("archive", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def upload(client: RestClient, name: str, archive: Path) -> None:
    """Upload an archive (zip or tar) as a dataset. Without NAME the archive's own name is used.

    What would refuse it is asked for before anything is sent.
    """
    workspace, _, short = name.partition("/")
    workspace_id = find_workspace(client, workspace)
    body = {"name": short, "archive_name": archive.name, "size": archive.stat().st_size}
    checked = client.post(f"/workspaces/{workspace_id}/datasets/check", body)
    made = client.upload(
        f"/workspaces/{workspace_id}/datasets", {"name": checked["name"]}, "archive", archive
    )
    click.echo(f"{made['workspace']['name']}/{made['name']}")


@dataset.command()
@click.argument("name", metavar="[WORKSPACE/]NAME")
@click.argument("path", default="")
@output_option
@click.pass_obj
def files(client: RestClient, name: str, path: str, output: str | None) -> None:
    """List what a dataset has, or a folder of it."""
    show_folder(files_of_dataset(client, name), path, output)


@dataset.command()
@click.argument("name", metavar="[WORKSPACE/]NAME")
@click.argument("path", default="")
@into_option("./NAME")
@click.pass_obj
def pull(client: RestClient, name: str, path: str, into: Path | None) -> None:
    """Fetch a dataset, or a folder of it. Files that are here already with the same size and time stay."""
    pull_files(files_of_dataset(client, name), path, into or Path(name.rpartition("/")[2]))


def files_of_dataset(client: RestClient, name: str) -> RemoteFiles:
    return RemoteFiles(client, f"/datasets/{find_dataset(client, name)['id']}")


@dataset.command()
@click.argument("name", metavar="[WORKSPACE/]NAME")
@click.argument("new_name")
@click.pass_obj
def rename(client: RestClient, name: str, new_name: str) -> None:
    """Give a dataset another name."""
    client.patch(f"/datasets/{find_dataset(client, name)['id']}", {"name": new_name})
    click.echo(message("{name} is changed.", name=name))


@dataset.command()
@click.argument("name", metavar="[WORKSPACE/]NAME")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(client: RestClient, name: str, yes: bool) -> None:
    """Delete a dataset that no live job reads. Registered files stay where they are."""
    found = find_dataset(client, name)
    exit_unless_confirmed(message("Delete {name} for good?", name=name), yes)
    client.delete(f"/datasets/{found['id']}")
    click.echo(message("{name} is deleted.", name=name))


DATASETS = Table(
    lambda row: row["name"],
    {
        "Dataset": lambda row: row["name"],
        "State": lambda row: row["state"],
        "Workspace": lambda row: row["workspace"]["name"] if row["workspace"] else "",
        "Files": lambda row: readable_number(row["files"]),
        "Size": lambda row: readable_size(row["bytes"]),
    },
)
