"""`groundcrew job files`, `job pull` and `job metrics`: lists and fetches what a job's program wrote and logged."""

import os
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from ..client import EXIT_FAILED, RestClient, exit_with
from ..messages import message
from ..output import (
    FORMATS,
    Table,
    local_datetime,
    output_option,
    readable_metric,
    readable_size,
    show_table,
)
from .submission import id_argument

job_argument = id_argument("job")
attempt_option = click.option(
    "--attempt", type=click.IntRange(1), help="Not the newest attempt but this one."
)

FILES = Table(
    lambda row: row["name"],
    {
        "Name": lambda row: row["name"] + ("/" if row["is_folder"] else ""),
        "Size": lambda row: readable_size(row["bytes"]),
        "Written": lambda row: local_datetime(row["written_at"]),
    },
)


@click.command()
@job_argument
@click.argument("path", default="")
@attempt_option
@output_option
@click.pass_obj
def files(client: RestClient, job_id: int, path: str, attempt: int | None, output: str | None) -> None:
    """List what a job wrote to $GROUNDCREW_OUT, or to a folder below it."""
    answer = list_folder(client, job_id, path, attempt)
    show_table(answer["entries"], FILES, output)
    if answer["has_more"]:
        click.echo(message("The folder has more entries than these."), err=True)


@click.command()
@job_argument
@click.argument("path", default="")
@click.option(
    "-d", "--into", type=click.Path(file_okay=False, path_type=Path), help="Where to; else ./job-<id>."
)
@attempt_option
@click.pass_obj
def pull(client: RestClient, job_id: int, path: str, into: Path | None, attempt: int | None) -> None:
    """Fetch what a job wrote. Files that are here already with the same size and time are left as they are."""
    target = into or Path(f"job-{job_id}")
    fetched = kept = size = 0
    for file_path, row in walk(client, job_id, path.strip("/"), attempt):
        if fetch_file(client, job_id, file_path, row, attempt, target):
            fetched, size = fetched + 1, size + row["bytes"]
        else:
            kept += 1
    click.echo(
        message(
            "{count} files with {size} fetched into {folder}, {kept} were here already.",
            count=fetched,
            size=readable_size(size),
            folder=target,
            kept=kept,
        )
    )


def walk(
    client: RestClient, job_id: int, folder: str, attempt: int | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The path below $GROUNDCREW_OUT and the entry of each file below a folder."""
    answer = list_folder(client, job_id, folder, attempt)
    if answer["has_more"]:
        exit_with(
            message(
                "{folder} has too many files: fetch it as a zip archive from the job's page.",
                folder=folder or ".",
            ),
            EXIT_FAILED,
        )
    for row in answer["entries"]:
        check_name(row["name"])
        path = f"{folder}/{row['name']}" if folder else row["name"]
        if row["is_folder"]:
            yield from walk(client, job_id, path, attempt)
        else:
            yield path, row


def check_name(name: str) -> None:
    """A server does not choose where on this machine is written."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        exit_with(
            message("The server sent a name that is no file name: {name}", name=repr(name)), EXIT_FAILED
        )


def list_folder(client: RestClient, job_id: int, path: str, attempt: int | None) -> Any:
    return client.get(f"/jobs/{job_id}/files", path=path, attempt=attempt)


def fetch_file(
    client: RestClient, job_id: int, path: str, row: dict[str, Any], attempt: int | None, into: Path
) -> bool:
    """False for one that is here already. It has its name only when all of it is here."""
    target = into / path
    written = datetime.fromisoformat(row["written_at"]).timestamp()
    if target.is_file() and (target.stat().st_size, int(target.stat().st_mtime)) == (
        row["bytes"],
        int(written),
    ):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    with part.open("wb") as file:
        client.download(f"/jobs/{job_id}/files/content", {"path": path, "attempt": attempt}, file)
    os.utime(part, (written, written))
    part.replace(target)
    return True


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
