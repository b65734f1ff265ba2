"""`groundcrew accounting`: a month by workspace and user, or one job."""

import csv
import sys
from typing import Any

import click

from ..client import RestClient
from ..messages import message, state_name
from ..output import (
    FORMATS,
    Table,
    local_datetime,
    readable_duration,
    readable_number,
    readable_size,
    show_facts,
    show_table,
)


@click.command()
@click.argument("job", required=False, metavar="[JOB]")
@click.option("--month", metavar="2026-11", help="This month where it is left out.")
@click.option("-o", "--output", type=click.Choice([*FORMATS, "csv"]))
@click.pass_obj
def accounting(client: RestClient, job: str | None, month: str | None, output: str | None) -> None:
    """Show who held units in a month, by workspace and user; or what one job used."""
    if job is not None:
        show_job_accounting(client, job.removeprefix("job-"), output)
        return
    answer = client.get("/accounting", month=month)
    rows = answer["items"]
    if output == "csv":
        write_csv(answer["month"], rows)
        return
    show_table(rows, ACCOUNTING, output, answer)


ACCOUNTING = Table(
    lambda row: f"{row['workspace']['name']}/{row['user']['name']}",
    {
        "Workspace": lambda row: row["workspace"]["name"],
        "User": lambda row: row["user"]["name"],
        "Jobs": lambda row: row["jobs"],
        "Finished": lambda row: row["finished"],
        "Failed": lambda row: row["failed"],
        "Stopped": lambda row: row["stopped"],
        "Booked (h)": lambda row: readable_number(row["unit_hours_booked"], 2),
        "Used (h)": lambda row: readable_number(row["unit_hours_used"], 2),
        "CPU time": lambda row: readable_duration(row["cpu_seconds"]),
    },
)


def write_csv(month: str, rows: list[dict[str, Any]]) -> None:
    """Writes the rows as CSV. Names cannot begin with a character that makes a formula in a spreadsheet."""
    numbers = [key for key in rows[0] if key not in ("workspace", "user")] if rows else []
    file = csv.writer(sys.stdout, lineterminator="\n")
    file.writerow(["month", "workspace", "user", *numbers])
    for row in rows:
        file.writerow([month, row["workspace"]["name"], row["user"]["name"], *(row[key] for key in numbers)])


def show_job_accounting(client: RestClient, job_id: str, output: str | None) -> None:
    if not job_id.isdigit():
        raise click.BadParameter(job_id)
    row = client.get(f"/jobs/{job_id}/accounting")
    if output == "csv":
        raise click.BadParameter(
            message("CSV is of a whole month: leave the job out."), param_hint="--output"
        )
    states = ", ".join(
        f"{state_name(state)} {readable_duration(seconds)}"
        for state, seconds in row["seconds_in_states"].items()
    )
    show_facts(
        row,
        f"job-{row['id']}",
        lambda: {
            "Job": f"job-{row['id']}",
            "Submitted": local_datetime(row["submitted_at"]),
            "Dispatched": local_datetime(row["dispatched_at"]),
            "Started": local_datetime(row["started_at"]),
            "Ended": local_datetime(row["ended_at"]),
            "Time in each state": states,
            "Units": row["units"],
            "Booked (h)": readable_number(row["unit_hours_booked"], 2),
            "Used (h)": readable_number(row["unit_hours_used"], 2),
            "CPU time": readable_duration(row["cpu_seconds"]),
            "Most memory": readable_size(row["max_memory_bytes"]),
            "Mean memory": readable_size(row["average_memory_bytes"]),
            "Exit code": row["exit_code"],
            "Why": (row.get("end") or {}).get("sentence") or message("It has not ended."),
        },
        output,
    )
