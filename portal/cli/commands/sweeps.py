"""`groundcrew sweep …`: submit, list, show, stop."""

from typing import Any

import click

from ..client import RestClient
from ..messages import message, state_name
from ..output import (
    Table,
    choose_format,
    local_datetime,
    output_option,
    print_facts,
    readable_metric,
    readable_number,
    show_table,
)
from .submission import id_argument, parse_variables, submission_options, submit_request


@click.group()
def sweep() -> None:
    """Many jobs from several values per parameter."""


sweep_argument = id_argument("sweep")


@sweep.command()
@submission_options("How many GPUs or CPU slots for each job.", "Show the list only; nothing is made.")
@click.option(
    "-v",
    "--var",
    "values",
    multiple=True,
    required=True,
    metavar="NAME=VALUE,VALUE,…",
    callback=parse_variables,
    help="Values apart by commas; 1..5 is a range. May be given several times.",
)
@click.option("--row-by-row", is_flag=True, help="First values together, then the second ones: no grid.")
@click.option("--at-once", type=int, metavar="N", help="At most so many of its jobs run at the same time.")
@click.option("--stop-on-trouble", is_flag=True, help="The first crash or NaN stops the rest.")
@click.pass_obj
def submit(client: RestClient, /, dry_run: bool, row_by_row: bool, at_once: int | None, **asked: Any) -> None:
    """Submit a sweep. For own code, {name} in the command is filled in; else --name value is appended."""
    kind = "list" if row_by_row else "grid"
    answer = submit_request(client, "/sweeps", dry_run, kind=kind, most_at_once=at_once, **asked)
    if dry_run:
        show_preview(answer)
        return
    click.echo(message("sweep-{id} submitted: {jobs} jobs.", id=answer["id"], jobs=answer["jobs"]), err=True)
    click.echo(f"sweep-{answer['id']}")


def show_preview(answer: dict[str, Any]) -> None:
    hours = answer.get("unit_hours")
    starts = {one["name"]: start_of(one) for one in answer["starts"]}
    for name in answer["names"]:
        click.echo("  ".join(filter(None, (name, starts.get(name, "")))))
    if answer["jobs"] > len(answer["names"]):
        click.echo("…")
    facts = {
        "Jobs": answer["jobs"],
        "Unit hours": readable_number(hours, 2),
        "Why": answer["waiting"]["sentence"] if answer.get("waiting") else message("It starts now."),
    }
    print_facts(facts, choose_format(None))


def start_of(preview: dict[str, Any]) -> str:
    """Returns the time at which one of the sweep's jobs would start; empty if it is not known."""
    if preview["starts_now"]:
        return message("now")
    data = preview["waiting"]["data"]
    if data.get("starts_at"):
        return local_datetime(data["starts_at"])
    if data.get("earliest_at"):
        return f"{local_datetime(data['earliest_at'])} – {local_datetime(data['latest_at'])}"
    return ""


@sweep.command("list")
@click.option("--limit", default=50, type=click.IntRange(1, 200))
@output_option
@click.pass_obj
def list_(client: RestClient, limit: int, output: str | None) -> None:
    """Sweeps, newest first."""
    show_table(client.get("/sweeps", limit=limit)["items"], SWEEPS, output)


SWEEPS = Table(
    lambda row: f"sweep-{row['id']}",
    {
        "Sweep": lambda row: f"sweep-{row['id']}",
        "Name": lambda row: row["name"],
        "Jobs": lambda row: row["jobs"],
        "Training": lambda row: row["training"]["name"],
        "Workspace": lambda row: row["workspace"]["name"],
        "User": lambda row: row["user"]["name"],
        "Submitted": lambda row: local_datetime(row["submitted_at"]),
        "Why": lambda row: (row.get("stop") or {}).get("sentence", ""),
    },
)


@sweep.command()
@sweep_argument
@click.option("--sort", default="", metavar="COLUMN", help="job, seconds, a parameter or a metric.")
@click.option("--limit", default=20, type=click.IntRange(1, 200))
@output_option
@click.pass_obj
def show(client: RestClient, sweep_id: int, sort: str, limit: int, output: str | None) -> None:
    """Show the sweep's progress, and its jobs side by side with the best on top."""
    answer = client.get(f"/sweeps/{sweep_id}", sort=sort, limit=limit)
    table = Table(lambda row: f"job-{row['job_id']}", table_columns(answer))
    if choose_format(output) in ("table", "wide"):
        print_facts(sweep_facts(answer), "table")
    show_table(answer["table"], table, output, answer)


def sweep_facts(answer: dict[str, Any]) -> dict[str, Any]:
    best = answer.get("best")
    return {
        "Sweep": f"sweep-{answer['id']}",
        "Name": answer["name"],
        "Jobs": answer["jobs"],
        "State": ", ".join(f"{state_name(state)} {count}" for state, count in answer["states"].items()),
        "Why": (answer.get("stop") or {}).get("sentence"),
        "Best": f"job-{best['job_id']}: {answer['metric']} {readable_metric(answer['metric'], best['value'])}"
        if best
        else None,
        "Page": answer["url"],
    }


def table_columns(answer: dict[str, Any]) -> dict[str, Any]:
    """The parameters that differ, then the metrics that were measured."""

    def value_of(name: str) -> Any:
        return lambda row: row["values"][name]

    def result_of(name: str) -> Any:
        return lambda row: readable_metric(name, row["results"][name]) if name in row["results"] else ""

    measured = dict.fromkeys(name for row in answer["table"] for name in row["results"])
    return {
        "Job": lambda row: f"job-{row['job_id']}",
        "State": lambda row: row["state_word"],
        **{name: value_of(name) for name in answer["differing"]},
        **{name: result_of(name) for name in list(measured)[:4]},
    }


@sweep.command()
@sweep_argument
@click.pass_obj
def stop(client: RestClient, sweep_id: int) -> None:
    """Stop all its jobs that have not ended."""
    client.post(f"/sweeps/{sweep_id}/stop")
    click.echo(message("sweep-{id} is being stopped.", id=sweep_id))
