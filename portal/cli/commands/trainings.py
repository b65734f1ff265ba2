"""`groundcrew training …`: lists, makes, edits, hands over, archives and deletes what jobs are made from."""

import base64
import time
import webbrowser
from pathlib import Path
from typing import Any

import click

from ..client import EXIT_NOT_FOUND, RestClient, exit_unless_confirmed, exit_with
from ..messages import message
from ..output import Table, output_option, readable_size, show_table
from .code import list_local_files
from .submission import find_environment, find_training, parse_duration

training_argument = click.argument("name", metavar="[WORKSPACE/]NAME")
visibility_option = click.option("--visibility", type=click.Choice(["public", "private"]))
members_option = click.option("--member", "members", multiple=True, metavar="USER", help="May be repeated.")

objective_option = click.option(
    "--objective", metavar="METRIC", help="The metric by which its jobs are compared; empty for none."
)
lower_option = click.option(
    "--lower-is-better", is_flag=True, help="Of the objective the lower value is better."
)


def objective_body(objective: str | None, lower_is_better: bool) -> dict[str, Any]:
    if objective is None:
        if lower_is_better:
            raise click.UsageError(message("--lower-is-better needs --objective METRIC."))
        return {}
    if not objective:
        return {"objective": None}
    return {"objective": {"metric": objective, "lower_is_better": lower_is_better}}


@click.group()
def training() -> None:
    """Trainings: what jobs are made from."""


@training.command("list")
@click.option("--archived", is_flag=True, help="Those in the archive.")
@output_option
@click.pass_obj
def list_(client: RestClient, archived: bool, output: str | None) -> None:
    """Trainings that you may see, newest first."""
    show_table(client.get("/trainings", archived=str(archived).lower())["items"], TRAININGS, output)


TRAININGS = Table(
    lambda row: f"{row['workspace']['name']}/{row['name']}",
    {
        "Training": lambda row: f"{row['workspace']['name']}/{row['name']}",
        "Kind": lambda row: row["model"] or row["kind"],
        "Owner": lambda row: row["owner"],
    },
)


@training.command()
@click.argument("name", metavar="WORKSPACE/NAME")
@click.option("--model", help="A built-in model; else the code of the folder.")
@click.option(
    "--code",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of code.",
)
@click.option("--description", default="")
@visibility_option
@members_option
@objective_option
@lower_option
@click.pass_obj
def create(
    client: RestClient,
    name: str,
    model: str | None,
    folder: Path | None,
    description: str,
    visibility: str | None,
    members: tuple[str, ...],
    objective: str | None,
    lower_is_better: bool,
) -> None:
    """Make a training of a built-in model or of a folder of code."""
    workspace, _, short = name.rpartition("/")
    if (model is None) == (folder is None) or not workspace:
        raise click.UsageError(message("Write WORKSPACE/NAME, and either --model or --code."))
    files = [
        {"path": path, "content": base64.b64encode(file.read_bytes()).decode()}
        for path, file in (list_local_files(folder) if folder else ())
    ]
    body = {
        "workspace_id": find_workspace(client, workspace),
        "name": short,
        "description": description,
        "visibility": visibility or "public",
        "members": list(members),
        "files": files,
    }
    body |= objective_body(objective, lower_is_better)
    made = client.post("/trainings", body | ({"model": model} if model else {}))
    click.echo(f"{made['workspace']['name']}/{made['name']}")


def find_workspace(client: RestClient, name: str) -> int:
    rows = [row for row in client.get("/workspaces")["items"] if row["name"] == name]
    if not rows:
        exit_with(message("No workspace is called {name}.", name=name), EXIT_NOT_FOUND)
    return int(rows[0]["id"])


@training.command()
@training_argument
@click.option("--name", "new_name")
@click.option("--description")
@visibility_option
@members_option
@click.option("--owner", metavar="USER", help="Hand it over.")
@objective_option
@lower_option
@click.option("-e", "--environment", metavar="NAME", help="Of its new jobs; default for the default one.")
@click.pass_obj
def edit(
    client: RestClient,
    /,
    name: str,
    new_name: str | None,
    members: tuple[str, ...],
    objective: str | None,
    lower_is_better: bool,
    environment: str | None,
    **changes: Any,
) -> None:
    """Change a training's name, description, visibility, named people, objective, environment or owner."""
    found = find_training(client, name)
    body = {field: value for field, value in (changes | {"name": new_name}).items() if value is not None}
    body |= objective_body(objective, lower_is_better)
    if members:
        body["members"] = list(members)
    if environment is not None:
        body["environment_id"] = find_environment(client, environment)
    if not body:
        raise click.UsageError(message("Say what is to change."))
    change(client, found, body)


def change(client: RestClient, found: dict[str, Any], body: dict[str, Any]) -> None:
    row = client.patch(f"/trainings/{found['id']}", body)
    click.echo(message("{name} is changed.", name=f"{row['workspace']['name']}/{row['name']}"))


@training.command()
@training_argument
@click.pass_obj
def archive(client: RestClient, name: str) -> None:
    """Put a training into the archive: it takes no jobs and no code."""
    change(client, find_training(client, name), {"archived": True})


@training.command()
@training_argument
@click.pass_obj
def unarchive(client: RestClient, name: str) -> None:
    """Take a training out of the archive."""
    change(client, find_training(client, name, archived=True), {"archived": False})


@training.command()
@training_argument
@click.option("--job-files", is_flag=True, help="Delete the files of its jobs too.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete(client: RestClient, name: str, job_files: bool, yes: bool) -> None:
    """Delete a training with its code. Its jobs stay with their numbers."""
    found = find_training(client, name)
    depends = client.get(f"/trainings/{found['id']}/dependents")
    click.echo(
        message(
            "{name} has {versions} versions of code with {code}, and {jobs} ended jobs with {files}.",
            name=name,
            versions=depends["code_versions"],
            code=readable_size(depends["code_bytes"]),
            jobs=depends["ended_jobs"],
            files=readable_size(depends["job_bytes"]),
        )
    )
    exit_unless_confirmed(message("Delete {name} for good?", name=name), yes)
    client.delete(f"/trainings/{found['id']}", job_files=str(job_files).lower())
    click.echo(message("{name} is deleted.", name=name))


notebook_training = click.argument("training", metavar="[WORKSPACE/]TRAINING")
READY_SECONDS, PAUSE_SECONDS = 120.0, 1.0


@click.group()
def notebook() -> None:
    """Notebooks: JupyterLab with the files of a training."""


@notebook.command("list")
@output_option
@click.pass_obj
def list_notebooks(client: RestClient, output: str | None) -> None:
    """Your notebooks that run or wait."""
    show_table(client.get("/notebooks")["items"], NOTEBOOKS, output)


NOTEBOOKS = Table(
    lambda row: f"job-{row['job_id']}",
    {
        "Job": lambda row: f"job-{row['job_id']}",
        "Training": lambda row: row["training"]["name"],
        "State": lambda row: row["state"],
        "Address": lambda row: row["url"],
    },
)


@notebook.command("start")
@notebook_training
@click.option("--time-limit", metavar="TIME", help="As 90m, 8h or 1d.")
@click.option("--wait", is_flag=True, help="Until JupyterLab answers.")
@click.pass_obj
def start_notebook(client: RestClient, training: str, time_limit: str | None, wait: bool) -> None:
    """Start your notebook of a training and print the address of its page."""
    body: dict[str, Any] = {"training_id": find_training(client, training)["id"]}
    if time_limit:
        body["time_limit_seconds"] = parse_duration(time_limit, "m")
    row = client.post("/notebooks", body)
    if wait:
        row = wait_until_ready(client, row["job_id"])
    click.echo(row["url"])


def wait_until_ready(client: RestClient, job_id: int) -> dict[str, Any]:
    """Ends the command if the notebook ends, or does not answer in time."""
    until = time.monotonic() + READY_SECONDS
    while True:
        row: dict[str, Any] = client.get(f"/notebooks/{job_id}")
        if row["is_ready"]:
            return row
        if time.monotonic() > until or row["state"] in ("finished", "failed", "stopped"):
            exit_with(message("job-{id} is not ready: {state}.", id=job_id, state=row["state"]))
        time.sleep(PAUSE_SECONDS)


@notebook.command("open")
@notebook_training
@click.pass_obj
def open_notebook(client: RestClient, training: str) -> None:
    """Open the page of your notebook in the browser, in which you are signed in."""
    url = find_notebook(client, training)["url"]
    click.echo(url)
    webbrowser.open(f"{url}?open=1")


@notebook.command("stop")
@notebook_training
@click.pass_obj
def stop_notebook(client: RestClient, training: str) -> None:
    """Stop your notebook. Its files and packages are kept."""
    job_id = find_notebook(client, training)["job_id"]
    client.post(f"/jobs/{job_id}/stop", {})
    click.echo(f"job-{job_id}")


@notebook.command("save")
@notebook_training
@click.option("--overwrite", is_flag=True, help="Also if there is a newer version of somebody else.")
@click.pass_obj
def save_notebook(client: RestClient, training: str, overwrite: bool) -> None:
    """Make your files the newest version of the training's code, and print its number."""
    training_id = find_training(client, training)["id"]
    saved = client.post(f"/trainings/{training_id}/working-copy/save", {"overwrite": overwrite})
    click.echo(saved["version"])


@notebook.command("environment")
@notebook_training
@click.argument("name")
@click.option("--description", default="")
@click.pass_obj
def ask_for_environment(client: RestClient, training: str, name: str, description: str) -> None:
    """Ask for an environment with the packages that you have installed in notebooks of a training."""
    training_id = find_training(client, training)["id"]
    body = {"name": name, "description": description}
    made = client.post(f"/trainings/{training_id}/working-copy/environment", body)
    if made["state"] == "unapproved":
        click.echo(message("{name} waits for the approval of the manager.", name=made["name"]))
        return
    click.echo(
        message("{name} is being built: op-{operation}.", name=made["name"], operation=made["operation_id"])
    )


def find_notebook(client: RestClient, training: str) -> dict[str, Any]:
    """Ends the command if the person has none of this training."""
    training_id = find_training(client, training)["id"]
    rows = [row for row in client.get("/notebooks")["items"] if row["training"]["id"] == training_id]
    if not rows:
        exit_with(message("You have no notebook of {name}.", name=training), EXIT_NOT_FOUND)
    return dict(rows[0])
