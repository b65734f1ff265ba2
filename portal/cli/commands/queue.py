"""`groundcrew queue`: lists waiting jobs in queue order with their reasons, or running jobs."""

from typing import Any

import click

from ..client import RestClient
from ..messages import message
from ..output import Table, local_datetime, output_option, readable_percent, show_table

MORE_WAIT = "More jobs wait behind these: --limit, --workspace or --mine show others."
MORE_RUN = "More jobs run than these: --limit, --workspace or --mine show others."


@click.command()
@click.option("-w", "--workspace", metavar="NAME", help="The whole line of one workspace.")
@click.option("--mine", is_flag=True)
@click.option(
    "--state", type=click.Choice(["waiting", "held", "running"]), help="Who stands in line, is held, or runs."
)
@click.option("--limit", default=50, type=click.IntRange(1, 200))
@output_option
@click.pass_obj
def queue(
    client: RestClient, workspace: str | None, mine: bool, state: str | None, limit: int, output: str | None
) -> None:
    """Show what waits, in the order in which it will start, and why; with --state running what runs."""
    workspace_id = find_workspace(client, workspace) if workspace else None
    query = {"mine": str(mine).lower(), "limit": limit} | (
        {"workspace_id": workspace_id} if workspace_id else {}
    )
    query |= {"state": state} if state else {}
    answer = client.get("/queue", **query)
    if state == "running":
        show_table(answer["running"], RUNNING, output, answer)
    else:
        show_table(answer["waiting"], WAITING, output, answer)
    if answer["next_cursor"] and output not in ("json", "yaml"):
        click.echo(message(MORE_RUN if state == "running" else MORE_WAIT), err=True)


def find_workspace(client: RestClient, name: str) -> int:
    for row in client.get("/workspaces")["items"]:
        if row["name"] == name:
            return int(row["id"])
    raise click.UsageError(message("No workspace is called {name}.", name=name))


def expected_start(waiting: dict[str, Any] | None) -> str:
    """The likeliest moment in local time. Empty if it is not known."""
    return local_datetime((waiting or {}).get("data", {}).get("starts_at"))


WAITING = Table(
    lambda row: f"job-{row['id']}",
    {
        "Job": lambda row: f"job-{row['id']}",
        "Starts": lambda row: expected_start(row["waiting"]),
        "Workspace": lambda row: row["workspace"]["name"] if row["workspace"] else "",
        "User": lambda row: row["user"]["name"] if row["user"] else "",
        "Units": lambda row: row["units"],
        "Submitted": lambda row: local_datetime(row["submitted_at"]),
        "Why": lambda row: (
            row["waiting"]["sentence"] if row["waiting"] else message("a job that you may not see")
        ),
    },
)
RUNNING = Table(
    lambda row: f"job-{row['job']['id']}" if row["job"] else "",
    {
        "Job": lambda row: f"job-{row['job']['id']}" if row["job"] else message("a job that you may not see"),
        "Ends": lambda row: local_datetime(row["ends_at"]),
        "Units": lambda row: row["units"],
        "Progress": lambda row: readable_percent(row["progress"]),
        "Node": lambda row: ", ".join(row["nodes"]),
        "Started": lambda row: local_datetime(row["started_at"]),
    },
)
