"""`groundcrew code git …`: sets the git source of a training, pulls from it, and shows it."""

import sys
import time
from pathlib import Path
from typing import Any

import click

from ..client import EXIT_FAILED, EXIT_USAGE, RestClient, exit_with
from ..messages import message
from ..output import output_option, show_facts
from .submission import find_training

OPEN_STATES = ("requested", "running")
PAUSE_SECONDS = 1.0
CREDENTIALS = ("none", "token", "deploy_key")

training_option = click.option("-t", "--training", required=True, metavar="[WORKSPACE/]NAME")


@click.group("git")
def git() -> None:
    """Code of a training from a git repository."""


@git.command("set")
@training_option
@click.argument("url")
@click.option("--ref", "reference", default="", metavar="NAME", help="Branch, tag or whole commit id.")
@click.option("--folder", default="", help="Only this folder of the repository.")
@click.option("--access", "credential", type=click.Choice(CREDENTIALS), default="none", show_default=True)
@click.option("--user", "user_name", default="", help="The name that is sent with a token.")
@click.option(
    "--token-stdin", is_flag=True, help="Read the token from stdin, so that no list of processes shows it."
)
@click.option(
    "--key",
    "key_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A private key without a passphrase; else one is made on the server.",
)
@click.option("--new-key", "makes_new_key", is_flag=True, help="Make a new key pair on the server.")
@output_option
@click.pass_obj
def set_(
    client: RestClient,
    training: str,
    url: str,
    reference: str,
    folder: str,
    credential: str,
    user_name: str,
    token_stdin: bool,
    key_file: Path | None,
    makes_new_key: bool,
    output: str | None,
) -> None:
    """Say where the code comes from; nothing is fetched yet."""
    if (token_stdin and credential != "token") or (key_file and credential != "deploy_key"):
        exit_with(message("A token needs --access token, a key --access deploy_key."), EXIT_USAGE)
    found = find_training(client, training)
    body = {
        "url": url,
        "reference": reference,
        "folder": folder,
        "credential": credential,
        "user_name": user_name,
        "token": sys.stdin.readline().strip() if token_stdin else "",
        "private_key": key_file.read_text() if key_file else "",
        "makes_new_key": makes_new_key,
    }
    row = client.request("PUT", f"/trainings/{found['id']}/git", None, body).json()
    show_facts(row, row["url"], lambda: source_facts(row), output)


@git.command()
@training_option
@output_option
@click.pass_obj
def show(client: RestClient, training: str, output: str | None) -> None:
    """Show where the code comes from, and how the newest pull ended."""
    found = find_training(client, training)
    row = read_source(client, found)
    show_facts(row, row["url"], lambda: source_facts(row), output)


@git.command()
@training_option
@click.option("--no-wait", is_flag=True, help="Ask for it and go on.")
@click.pass_obj
def pull(client: RestClient, training: str, no_wait: bool) -> None:
    """Fetch the newest commit as the next version."""
    found = find_training(client, training)
    row = client.post(f"/trainings/{found['id']}/git/fetch")
    asked = row["operation_id"]
    if no_wait:
        click.echo(message("op-{id} fetches.", id=asked))
        return
    while row["operation_id"] == asked and row["state"] in OPEN_STATES:
        time.sleep(PAUSE_SECONDS)
        row = read_source(client, found)
    if row["error"] or row["state"] != "finished":
        exit_with((row["error"] or {}).get("sentence") or message("The fetch did not end well."), EXIT_FAILED)
    commit = row["commit"] or {"id": "", "subject": ""}
    about = {"version": row["version"], "commit": commit["id"][:10], "subject": commit["subject"]}
    if row["is_new"]:
        click.echo(message("Version {version}: {commit} {subject}", **about))
    else:
        click.echo(message("Nothing new since version {version}: {commit} {subject}", **about))


def read_source(client: RestClient, training: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = client.get(f"/trainings/{training['id']}/git")
    if row["url"] is None:
        exit_with(
            message("{name} has no git source. Set one: groundcrew code git set", name=training["name"]),
            EXIT_FAILED,
        )
    return row


def source_facts(row: dict[str, Any]) -> dict[str, Any]:
    commit = row["commit"] or {}
    return {
        "Address": row["url"],
        "Branch, tag or commit": row["reference"],
        "Folder": row["folder"],
        "Access": row["credential"],
        "Public key": row["public_key"],
        "Key of the server": row["host_key"],
        "Version": row["version"],
        "Commit": commit.get("id"),
        "Author": commit.get("author"),
        "Subject": commit.get("subject"),
        "Why": (row["error"] or {}).get("sentence"),
    }
