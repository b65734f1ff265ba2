"""`groundcrew job files`, `job pull` and `job metrics`: lists and fetches what a job's program wrote and logged."""

import sys
from pathlib import Path

import click

from ..client import RestClient
from ..output import FORMATS, Table, output_option, readable_metric, show_table
from .remote_files import RemoteFiles, into_option, pull_files, show_folder
from .submission import id_argument

job_argument = id_argument("job")
attempt_option = click.option(
    "--attempt", type=click.IntRange(1), help="Not the newest attempt but this one."
)


@click.command()
@job_argument
@click.argument("path", default="")
@attempt_option
@output_option
@click.pass_obj
def files(client: RestClient, job_id: int, path: str, attempt: int | None, output: str | None) -> None:
    """List what a job wrote to $GROUNDCREW_OUT, or to a folder below it."""
    show_folder(RemoteFiles(client, f"/jobs/{job_id}", attempt), path, output)


@click.command()
@job_argument
@click.argument("path", default="")
@into_option("./job-<id>")
@attempt_option
@click.pass_obj
def pull(client: RestClient, job_id: int, path: str, into: Path | None, attempt: int | None) -> None:
    """Fetch what a job wrote. Files that are here already with the same size and time are left as they are."""
    pull_files(RemoteFiles(client, f"/jobs/{job_id}", attempt), path, into or Path(f"job-{job_id}"))


METRICS = Table(
    lambda row: row["name"],
    {
        "Metric": lambda row: row["name"],
        "Lowest": lambda row: readable_metric(row["name"], row["lowest"]),
        "Highest": lambda row: readable_metric(row["name"], row["highest"]),
        "Last value": lambda row: readable_metric(row["name"], row["last"]),
    },
)


@click.command()
@job_argument
@attempt_option
@click.option("-o", "--output", type=click.Choice([*FORMATS, "csv"]))
@click.pass_obj
def metrics(client: RestClient, job_id: int, attempt: int | None, output: str | None) -> None:
    """The lowest, highest and last value of each metric; with -o csv every row that the program logged."""
    if output == "csv":
        client.download(f"/jobs/{job_id}/metrics/csv", {"attempt": attempt}, sys.stdout.buffer)
        return
    answer = client.get(f"/jobs/{job_id}/metrics", attempt=attempt)
    show_table(answer["items"], METRICS, output, answer)
