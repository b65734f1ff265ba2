"""Lists and fetches the files of a job or of a dataset, for the commands of both."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import click

from ..client import EXIT_FAILED, RestClient, exit_with
from ..messages import message
from ..output import Table, local_datetime, readable_size, show_table

Command = TypeVar("Command", bound=Callable[..., Any])

FILES = Table(
    lambda row: row["name"],
    {
        "Name": lambda row: row["name"] + ("/" if row["is_folder"] else ""),
        "Size": lambda row: readable_size(row["bytes"]),
        "Written": lambda row: local_datetime(row["written_at"]),
    },
)


def into_option(default: str) -> Callable[[Command], Command]:
    return click.option(
        "-d", "--into", type=click.Path(file_okay=False, path_type=Path), help=f"Where to; else {default}."
    )


@dataclass(frozen=True)
class RemoteFiles:
    """The files below `address`/files of REST. Of a job `attempt` may name another one than the newest."""

    client: RestClient
    address: str
    attempt: int | None = None

    def list_folder(self, path: str) -> Any:
        return self.client.get(f"{self.address}/files", path=path, attempt=self.attempt)

    def download(self, path: str, file: BinaryIO) -> None:
        self.client.download(f"{self.address}/files/content", {"path": path, "attempt": self.attempt}, file)


def show_folder(files: RemoteFiles, path: str, output: str | None) -> None:
    answer = files.list_folder(path)
    show_table(answer["entries"], FILES, output)
    if answer["has_more"]:
        click.echo(message("The folder has more entries than these."), err=True)


def pull_files(files: RemoteFiles, path: str, target: Path) -> None:
    """Fetches all files below a folder. Those that are here already with the same size and time stay."""
    fetched = kept = size = 0
    for file_path, row in walk(files, path.strip("/")):
        if fetch_file(files, file_path, row, target):
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


def walk(files: RemoteFiles, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The path below the top and the entry of each file below a folder."""
    answer = files.list_folder(folder)
    if answer["has_more"]:
        exit_with(
            message(
                "{folder} has too many files: fetch it as a zip archive from its page.", folder=folder or "."
            ),
            EXIT_FAILED,
        )
    for row in answer["entries"]:
        check_name(row["name"])
        path = f"{folder}/{row['name']}" if folder else row["name"]
        if row["is_folder"]:
            yield from walk(files, path)
        else:
            yield path, row


def check_name(name: str) -> None:
    """Refuses a name that leads out of the folder, because a server must not choose where this machine writes."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        exit_with(
            message("The server sent a name that is no file name: {name}", name=repr(name)), EXIT_FAILED
        )


def fetch_file(files: RemoteFiles, path: str, row: dict[str, Any], into: Path) -> bool:
    """Returns False for a file that is here already. A file gets its name only when it is complete."""
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
        files.download(path, file)
    os.utime(part, (written, written))
    part.replace(target)
    return True
