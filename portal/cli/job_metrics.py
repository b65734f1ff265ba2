"""`groundcrew job metrics`: the lowest, highest and last value of each metric, or every row as CSV."""

import sys

import click

from .client import RestClient
from .job_files import attempt_option, job_argument
from .output import FORMATS, Table, readable_metric, show_table

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
