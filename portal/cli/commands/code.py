"""`groundcrew code …`: pushes a folder as a new version of a training's code, pulls, lists and compares versions."""

import base64
import difflib
import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..client import EXIT_CONFLICT, EXIT_FAILED, EXIT_NOT_FOUND, RestClient, exit_with
from ..messages import message
from ..output import Table, local_datetime, output_option, readable_size, show_table
from .code_git import git
from .submission import find_training

IGNORED_NAMES = frozenset(
    {".git", ".hg", ".svn", "__pycache__", "__MACOSX", ".ipynb_checkpoints", ".venv", "venv", ".mypy_cache"}
    | {".pytest_cache", ".ruff_cache", ".DS_Store", "Thumbs.db"}
)
IGNORED_ENDINGS = (".pyc", ".pyo")
"""The names that are left out of every upload. The server leaves out the same; a test compares the two lists."""
COMPARED_BYTES = 256 * 1024

training_option = click.option("-t", "--training", required=True, metavar="[WORKSPACE/]NAME")
version_option = click.option(
    "--version", "version", type=click.IntRange(1), help="Not the newest version but this one."
)
folder_argument = click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path)
)

VERSIONS = Table(
    lambda row: str(row["number"]),
    {
        "Version": lambda row: row["number"],
        "State": lambda row: row["state"],
        "Files": lambda row: "" if row["files"] is None else row["files"],
        "Size": lambda row: readable_size(row["bytes"]),
        "User": lambda row: row["created_by"],
        "Written": lambda row: local_datetime(row["created_at"]),
    },
)
FILES = Table(
    lambda row: row["path"],
    {"Name": lambda row: row["path"], "Size": lambda row: readable_size(row["bytes"])},
)


@click.group()
def code() -> None:
    """The code of a training, in versions."""


code.add_command(git)


@code.command("list")
@training_option
@click.option("--files", "version", type=click.IntRange(0), metavar="VERSION", help="The files of a version.")
@output_option
@click.pass_obj
def list_(client: RestClient, training: str, version: int | None, output: str | None) -> None:
    """Versions of a training's code, newest first, or the files of one."""
    found = find_training(client, training)
    if version is None:
        show_table(client.get(f"/trainings/{found['id']}/code")["items"], VERSIONS, output)
    else:
        show_table(read_tree(client, found, version), FILES, output)


@code.command()
@training_option
@click.argument(
    "folder", default=".", type=click.Path(exists=True, path_type=Path), metavar="[FOLDER|ARCHIVE]"
)
@click.option("--delete", is_flag=True, help="The new version lacks files that are not in the folder.")
@click.pass_obj
def push(client: RestClient, training: str, folder: Path, delete: bool) -> None:
    """Make a new version of a folder: what has changed is sent, files that are only on the server stay.

    An archive (zip or tar) is sent as it is and unpacked on the server.
    """
    found = find_training(client, training)
    if folder.is_file():
        if delete:
            raise click.UsageError(message("--delete works with a folder alone."))
        push_archive(client, found, folder)
        return
    there = read_digests(client, found)
    here = dict(list_local_files(folder))
    changed = [path for path, file in here.items() if there.get(path) != digest_file(file)]
    removed = sorted(there.keys() - here.keys()) if delete else []
    if not changed and not removed:
        click.echo(message("Nothing has changed since version {version}.", version=found["code_version"]))
        return
    files = [
        {"path": path, "content": base64.b64encode(here[path].read_bytes()).decode()} for path in changed
    ]
    body = {"files": files, "removed": removed, "base": found["code_version"] or 0}
    made = client.post(f"/trainings/{found['id']}/code", body)
    click.echo(
        message(
            "Version {version}: {changed} files sent, {removed} left out.",
            version=made["number"],
            changed=len(changed),
            removed=len(removed),
        )
    )


def push_archive(client: RestClient, training: dict[str, Any], archive: Path) -> None:
    path, base = f"/trainings/{training['id']}/code/archive", training["code_version"] or 0
    body = {"archive_name": archive.name, "size": archive.stat().st_size, "base": base}
    client.post(f"{path}/check", body)
    made = client.upload(path, {"base": str(base)}, "archive", archive)
    click.echo(message("Version {version} is being unpacked.", version=made["number"]))


@code.command()
@training_option
@folder_argument
@version_option
@click.option("--force", is_flag=True, help="Overwrite files that were changed here.")
@click.pass_obj
def pull(client: RestClient, training: str, folder: Path, version: int | None, force: bool) -> None:
    """Fetch a version into a folder. Files that are here and differ are overwritten with --force alone."""
    found = find_training(client, training)
    number = version or newest_version(found)
    rows = read_tree(client, found, number)
    wanted = [row for row in rows if not is_same(folder, row)]
    changed = [row["path"] for row in wanted if os.path.lexists(folder / row["path"])]
    if changed and not force:
        exit_with(
            message(
                "These files differ here; nothing was fetched: {files}. Use --force to overwrite them.",
                files=", ".join(changed[:10]),
            ),
            EXIT_CONFLICT,
        )
    for row in wanted:
        fetch_file(client, found, number, row["path"], folder)
    click.echo(message("Version {version}: {count} files fetched.", version=number, count=len(wanted)))


@code.command()
@training_option
@folder_argument
@click.option("--from", "before", type=click.IntRange(1), metavar="VERSION", help="Compare this version …")
@click.option(
    "--to", "after", type=click.IntRange(1), metavar="VERSION", help="… with this one, not with the folder."
)
@click.pass_obj
def diff(client: RestClient, training: str, folder: Path, before: int | None, after: int | None) -> None:
    """Show what a folder has changed since the newest version, or what differs between two versions."""
    found = find_training(client, training)
    number = before or newest_version(found)
    if after is not None:
        answer = client.request(
            "GET", f"/trainings/{found['id']}/code/difference", {"before": number, "after": after}
        )
        click.echo(answer.content.decode("utf-8", "replace"), nl=False)
        return
    there = {row["path"]: row["sha256"] for row in read_tree(client, found, number)}
    here = dict(list_local_files(folder))
    for path in sorted(there.keys() | here.keys()):
        if path in here and there.get(path) == digest_file(here[path]):
            continue
        old = read_content(client, found, number, path) if path in there else b""
        new = here[path].read_bytes() if path in here else b""
        for line in diff_contents(old, new, path):
            click.echo(line)


def diff_contents(old: bytes, new: bytes, path: str) -> Iterator[str]:
    if b"\0" in old + new or max(len(old), len(new)) > COMPARED_BYTES:
        yield f"Files a/{path} and b/{path} differ"
        return
    before, after = (content.decode("utf-8", "replace").splitlines() for content in (old, new))
    yield from difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm="")


def newest_version(training: dict[str, Any]) -> int:
    number = training["code_version"]
    if not number:
        exit_with(message("{name} has no code yet.", name=training["name"]), EXIT_NOT_FOUND)
    return int(number)


def read_tree(client: RestClient, training: dict[str, Any], version: int) -> list[dict[str, Any]]:
    """0 is the newest version."""
    number = version or newest_version(training)
    rows: list[dict[str, Any]] = client.get(f"/trainings/{training['id']}/code/{number}")["files"]
    for row in rows:
        check_path(row["path"])
    return rows


def read_digests(client: RestClient, training: dict[str, Any]) -> dict[str, str]:
    if not training["code_version"]:
        return {}
    return {row["path"]: row["sha256"] for row in read_tree(client, training, 0)}


def check_path(path: str) -> None:
    """Refuses a path that leads out of the folder, because a server must not choose where this machine writes."""
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        exit_with(
            message("The server sent a name that is no file name: {name}", name=repr(path)), EXIT_FAILED
        )


def list_local_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Regular files below a folder, by their paths with slashes. Links and caches are left out."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_ignored(name))
        for name in sorted(names):
            file = Path(parent, name)
            if not is_ignored(name) and file.is_file() and not file.is_symlink():
                yield file.relative_to(folder).as_posix(), file


def is_ignored(name: str) -> bool:
    return name in IGNORED_NAMES or name.endswith(IGNORED_ENDINGS) or name.startswith("._")


def digest_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def is_same(folder: Path, row: dict[str, Any]) -> bool:
    file = folder / row["path"]
    return bool(file.is_file() and file.stat().st_size == row["bytes"] and digest_file(file) == row["sha256"])


def fetch_file(client: RestClient, training: dict[str, Any], version: int, path: str, folder: Path) -> None:
    """Gives the file its name only when it is complete; an existing link is replaced, not followed."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        exit_with(message("{path} leads out of the folder by a link.", path=target), EXIT_FAILED)
    part = target.with_name(f".{target.name}.part")
    with part.open("wb") as file:
        client.download(f"/trainings/{training['id']}/code/{version}/content", {"path": path}, file)
    part.replace(target)


def read_content(client: RestClient, training: dict[str, Any], version: int, path: str) -> bytes:
    content = io.BytesIO()
    client.download(f"/trainings/{training['id']}/code/{version}/content", {"path": path}, content)
    return content.getvalue()
