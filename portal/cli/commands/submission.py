"""The options that `job submit` and `sweep submit` share, and the request body built from them."""

import re
import sys
from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Any, TypeVar

import click

from ..client import EXIT_NOT_FOUND, EXIT_USAGE, RestClient, exit_with
from ..messages import message

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SIZE_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}
Command = TypeVar("Command", bound=Callable[..., Any])


def parse_id(word: str, text: str) -> int:
    """Parses a job's number: `job-42` and `42` are the same. Raises BadParameter."""
    digits = text.removeprefix(f"{word}-")
    if not (digits.isascii() and digits.isdigit()):
        raise click.BadParameter(text)
    return int(digits)


def id_argument(word: str) -> Callable[[Command], Command]:
    def parse(context: click.Context, argument: click.Parameter, text: str) -> int:
        return parse_id(word, text)

    return click.argument(f"{word}_id", metavar=word.upper(), callback=parse)


def ids_argument(word: str) -> Callable[[Command], Command]:
    """One id or several: the command does the same with each."""

    def parse(context: click.Context, argument: click.Parameter, texts: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(parse_id(word, text) for text in texts))

    return click.argument(f"{word}_ids", metavar=f"{word.upper()}…", nargs=-1, required=True, callback=parse)


def do_each(word: str, ids: Collection[int], action: Callable[[int], None]) -> None:
    """Does the same with each id. A refused id does not prevent the others; the command ends with the exit code of the
    first refused one.
    """
    codes = []
    for number in ids:
        try:
            action(number)
        except SystemExit as refused:
            codes.append(refused.code)
            if len(ids) > 1:
                click.echo(message("{id} was left out.", id=f"{word}-{number}"), err=True)
    if codes:
        sys.exit(codes[0])


def parse_variables(
    context: click.Context, option: click.Parameter, pairs: tuple[str, ...]
) -> dict[str, str]:
    if any("=" not in pair for pair in pairs):
        raise click.BadParameter(message("Write it as NAME=VALUE."))
    return dict(pair.split("=", 1) for pair in pairs)


def parse_duration(text: str, bare_unit: str) -> int:
    """Seconds. A bare number is in `bare_unit`, as in the form of the pages. Raises BadParameter."""
    match = re.fullmatch(r"([0-9]{1,7})\s*([smhd]?)", text)
    if match is None:
        raise click.BadParameter(message("Write it as 90s, 30m, 2h or 1d."))
    return int(match[1]) * SECONDS[match[2] or bare_unit]


def parse_time_limit(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Parses a time limit; a bare number is in minutes."""
    return None if text is None else parse_duration(text, "m")


def parse_seconds(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Parses a duration; a bare number is in seconds."""
    return None if text is None else parse_duration(text, "s")


def parse_size(text: str) -> int:
    """Bytes. A bare number is in GiB. Raises BadParameter."""
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,3})?) *(B|KiB|MiB|GiB|TiB|)", text)
    if match is None:
        raise click.BadParameter(message("Write it as 12GiB or 800MiB."))
    return int(Decimal(match[1]) * SIZE_UNITS[match[2] or "GiB"])


def parse_size_option(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    return None if text is None else parse_size(text)


def submission_options(units: str, dry_run: str) -> Callable[[Command], Command]:
    """`units` and `dry_run` are the help texts of these two options."""
    options = [
        click.option("-t", "--training", required=True, metavar="[WORKSPACE/]NAME"),
        click.option("-n", "--name", default=""),
        click.option("-u", "--units", default=1, help=units),
        click.option("-d", "--dataset", metavar="NAME"),
        click.option("-e", "--environment", metavar="NAME", help="Without it the one of the training."),
        click.option("--launcher", type=click.Choice(["horovod", "torchrun", "plain"])),
        click.option("--priority", default=0),
        click.option(
            "--time-limit", metavar="30m|2h|1d", callback=parse_time_limit, help="A bare number is minutes."
        ),
        click.option(
            "--grace",
            metavar="90s|5m",
            callback=parse_seconds,
            help="From SIGTERM to SIGKILL; a bare number is seconds.",
        ),
        click.option("--retries", default=0, help="Further tries after a failed one."),
        click.option(
            "--memory", metavar="12GiB|800MiB", callback=parse_size_option, help="Of all its units together."
        ),
        click.option(
            "--code-version",
            type=click.IntRange(1),
            metavar="N",
            help="Of own code; without it the newest.",
        ),
        click.option("--dry-run", is_flag=True, help=dry_run),
        click.argument("command", nargs=-1),
    ]

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def submit_request(
    client: RestClient,
    path: str,
    dry_run: bool,
    training: str,
    dataset: str | None,
    environment: str | None,
    time_limit: int | None,
    grace: int | None,
    memory: int | None,
    command: tuple[str, ...],
    **others: Any,
) -> dict[str, Any]:
    """Returns the answer, and prints its warnings."""
    training_row = find_training(client, training)
    body = {
        **others,
        "training_id": training_row["id"],
        "time_limit_seconds": time_limit,
        "memory_bytes": memory,
        "command": list(command),
    }
    if grace is not None:
        body["grace_seconds"] = grace
    if dataset:
        body["dataset_id"] = find_dataset(client, dataset, training_row["workspace"]["id"])
    if environment:
        body["environment_id"] = find_environment(client, environment)
    answer: dict[str, Any] = client.post(path, body, dry_run=str(dry_run).lower())
    for warning in answer.get("warnings") or []:
        click.echo(warning["sentence"], err=True)
    return answer


def find_training(client: RestClient, name: str, archived: bool = False) -> dict[str, Any]:
    """Finds NAME, or WORKSPACE/NAME if several workspaces have a training of that name."""
    workspace, _, short = name.rpartition("/")
    rows = client.get("/trainings", name=short, archived="true" if archived else None)["items"]
    if workspace:
        rows = [training for training in rows if training["workspace"]["name"] == workspace]
    if not rows:
        exit_with(message("No training is called {name}.", name=name), EXIT_NOT_FOUND)
    if len(rows) > 1:
        exit_with(
            message("Several workspaces have a training {name}: write WORKSPACE/{name}.", name=short),
            EXIT_USAGE,
        )
    training: dict[str, Any] = rows[0]
    return training


def find_environment(client: RestClient, name: str) -> int:
    if name == "default":
        return 0
    rows = client.get("/environments", name=name)["items"]
    if not rows:
        exit_with(message("No environment is called {name}.", name=name), EXIT_NOT_FOUND)
    return int(rows[0]["id"])


def find_dataset(client: RestClient, name: str, workspace_id: int) -> int:
    rows = client.get("/datasets", name=name, workspace_id=workspace_id)["items"]
    if not rows:
        exit_with(message("No dataset is called {name}.", name=name), EXIT_NOT_FOUND)
    # A failed dataset does not keep its name from others.
    usable = [row for row in rows if row["state"] != "failed"] or rows
    return int(usable[0]["id"])
