"""`groundcrew job …`: submit, list, show, logs, cancel, why."""

import shlex
import sys
import time
from typing import Any

import click

from .client import EXIT_FAILED, EXIT_TIMED_OUT, EXIT_USAGE, RestClient, exit_with
from .messages import message
from .output import local_datetime, output_option, readable_size, show_facts, show_table
from .submission import (
    id_argument,
    parse_seconds,
    parse_variables,
    submission_options,
    submit_request,
)

LIVE_STATES = ("waiting", "starting", "running", "stopping")
POLL_SECONDS = 1.0

job_argument = id_argument("job")


def parse_job_ids(
    context: click.Context, argument: click.Parameter, texts: tuple[str, ...]
) -> tuple[int, ...]:
    """`job-42` and `42` are the same."""
    numbers = [text.removeprefix("job-") for text in texts]
    for number, text in zip(numbers, texts, strict=True):
        if not number.isdigit():
            raise click.BadParameter(text)
    return tuple(int(number) for number in numbers)


@click.group()
def job() -> None:
    """Submit, follow and stop jobs."""


@job.command()
@submission_options("How many GPUs or CPU slots.", "Check only; nothing is made.")
@click.option("-v", "--var", "variables", multiple=True, metavar="NAME=VALUE", callback=parse_variables)
@click.option("--wait", is_flag=True, help="Return when it has ended, with its result as the exit code.")
@click.option(
    "--timeout",
    metavar="90s|30m|2h",
    callback=parse_seconds,
    help="With --wait: give up waiting; a bare number is seconds.",
)
@click.pass_obj
def submit(client: RestClient, /, dry_run: bool, wait: bool, timeout: int | None, **asked: Any) -> None:
    """Submit a job. For own code, the script and its arguments come after `--`."""
    answer = submit_request(client, "/jobs", dry_run, **asked)
    if dry_run:
        click.echo(answer["waiting"]["sentence"] if answer.get("waiting") else message("It starts now."))
        return
    click.echo(message("job-{id} submitted.", id=answer["id"]), err=True)
    click.echo(f"job-{answer['id']}")
    if wait:
        sys.exit(wait_for_end(client, answer["id"], timeout))


def wait_for_end(client: RestClient, job_id: int, timeout: int | None) -> int:
    """0 finished, 1 failed or stopped, 124 when `timeout` seconds went by."""
    give_up = time.monotonic() + timeout if timeout else None
    while (row := client.get(f"/jobs/{job_id}"))["state"] in LIVE_STATES:
        if give_up and time.monotonic() > give_up:
            click.echo(message("Still going after {seconds} s; the job goes on.", seconds=timeout), err=True)
            return EXIT_TIMED_OUT
        time.sleep(POLL_SECONDS)
    click.echo(row["end"]["sentence"] if row.get("end") else row["state_word"], err=True)
    return 0 if row["state"] == "finished" else EXIT_FAILED


@job.command("list")
@click.option("--state", type=click.Choice([*LIVE_STATES, "finished", "failed", "stopped"]))
@click.option("--mine", is_flag=True)
@click.option("--limit", default=50, type=click.IntRange(1, 200))
@output_option
@click.pass_obj
def list_(client: RestClient, state: str | None, mine: bool, limit: int, output: str) -> None:
    """Jobs, newest first."""
    rows = client.get("/jobs", state=state, mine=str(mine).lower(), limit=limit)["items"]
    columns = {
        "Job": lambda row: f"job-{row['id']}",
        "State": lambda row: row["state_word"],
        "Name": lambda row: row["name"],
        "Workspace": lambda row: row["workspace"]["name"],
        "User": lambda row: row["user"]["name"],
        "Units": lambda row: row["units"],
        "Submitted": lambda row: local_datetime(row["submitted_at"]),
        "Why": lambda row: (row.get("waiting") or row.get("end") or {}).get("sentence", ""),
    }
    show_table(rows, columns, output)


@job.command()
@job_argument
@output_option
@click.pass_obj
def show(client: RestClient, job_id: int, output: str) -> None:
    """One job with its facts."""
    row = client.get(f"/jobs/{job_id}")
    if output == "json":
        show_table(row, {}, output)
        return
    variables = " ".join(f"{name}={value}" for name, value in row["variables"].items())
    show_facts(
        {
            "Job": f"job-{row['id']}",
            "State": row["state_word"],
            "Why": (row.get("waiting") or row.get("end") or {}).get("sentence"),
            "Name": row["name"],
            "Workspace": row["workspace"]["name"],
            "Training": row["training"]["name"],
            "User": row["user"]["name"],
            "Units": row["units"],
            "Dataset": (row.get("dataset") or {}).get("name"),
            "Variables": variables,
            "Command": shlex.join(row["command"]),
            "Submitted": local_datetime(row["submitted_at"]),
            "Started": local_datetime(row["started_at"]),
            "Ended": local_datetime(row["ended_at"]),
            "Attempts": row["attempts"],
            "Exit code": row["exit_code"],
            "Files": (row.get("files_deleted") or {}).get("sentence")
            or readable_size(row.get("storage_bytes")),
            "Page": row["url"],
        }
    )


@job.command()
@job_argument
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--rank", default=0, type=click.IntRange(0, 9999))
@click.option("--stderr", "stream", flag_value="stderr")
@click.option("--stdout", "stream", flag_value="stdout", default="stdout")
@click.option("--from-start", is_flag=True, help="The whole log instead of its last 64 KiB.")
@click.pass_obj
def logs(
    client: RestClient, job_id: int, follow: bool, rank: int, stream: str | None, from_start: bool
) -> None:
    """Print the log of one rank."""
    offset = 0 if from_start or follow else -65536
    while True:
        living = client.get(f"/jobs/{job_id}")["state"] in LIVE_STATES
        offset, size = print_log_chunk(client, job_id, rank, stream or "stdout", offset)
        if offset < size:
            continue
        if not (follow and living):
            return
        time.sleep(POLL_SECONDS)


def print_log_chunk(client: RestClient, job_id: int, rank: int, stream: str, offset: int) -> tuple[int, int]:
    """Writes the bytes as they are; returns the offset of the next chunk and how long the log is."""
    query = {"source": f"rank-{rank}", "stream": stream, "offset": offset}
    answer = client.request("GET", f"/jobs/{job_id}/log", query)
    sys.stdout.buffer.write(answer.content)
    sys.stdout.buffer.flush()
    return int(answer.headers["X-Log-Next"]), int(answer.headers["X-Log-Size"])


@job.command()
@job_argument
@click.pass_obj
def cancel(client: RestClient, job_id: int) -> None:
    """Stop a job."""
    client.post(f"/jobs/{job_id}/stop")
    click.echo(message("job-{id} is being stopped.", id=job_id))


@job.command("delete-files")
@click.argument("job_ids", metavar="JOB…", nargs=-1, required=True, callback=parse_job_ids)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete_files(client: RestClient, job_ids: tuple[int, ...], yes: bool) -> None:
    """Delete the files of ended jobs: logs, graphs, checkpoints. Their numbers stay."""
    rows = [client.get(f"/jobs/{job_id}") for job_id in job_ids]
    for row in rows:
        click.echo(f"job-{row['id']}  {row['name']}  {readable_size(row['storage_bytes'])}")
    if not yes and not click.confirm(message("Delete the files of {count} jobs for good?", count=len(rows))):
        exit_with(message("Nothing was changed."), EXIT_USAGE)
    client.post("/jobs/delete-files", {"job_ids": list(job_ids)})
    click.echo(message("The files of {count} jobs are being deleted.", count=len(rows)))


@job.command()
@job_argument
@click.pass_obj
def hold(client: RestClient, job_id: int) -> None:
    """Keep a waiting job from starting. For the workspace's manager."""
    client.post(f"/jobs/{job_id}/hold")
    click.echo(message("job-{id} is held.", id=job_id))


@job.command()
@job_argument
@click.pass_obj
def release(client: RestClient, job_id: int) -> None:
    """Let a held job go. For the workspace's manager."""
    client.post(f"/jobs/{job_id}/release")
    click.echo(message("job-{id} waits again where it stood.", id=job_id))


@job.command()
@job_argument
@click.option("--up", "step", flag_value="up", help="One place forward.")
@click.option("--down", "step", flag_value="down", help="One place back.")
@click.option("--front", "step", flag_value="front", help="Before all others of its workspace.")
@click.option("--before", metavar="JOB", help="Before this job of the same workspace.")
@click.pass_obj
def move(client: RestClient, job_id: int, step: str | None, before: str | None) -> None:
    """Give a waiting job another place in its line. For the workspace's manager."""
    if (step is None) == (before is None):
        raise click.UsageError(message("Say where to: --up, --down, --front or --before JOB."))
    body: dict[str, object] = {"step": step or "before"}
    if before is not None:
        if not before.removeprefix("job-").isdigit():
            raise click.UsageError(message("Say where to: --up, --down, --front or --before JOB."))
        body["before"] = int(before.removeprefix("job-"))
    answer = client.post(f"/jobs/{job_id}/move", body)
    click.echo(f"{answer['state_word']}: {answer['waiting']['sentence']}")


@job.command()
@job_argument
@click.pass_obj
def why(client: RestClient, job_id: int) -> None:
    """Why it waits, or how it ended."""
    answer = client.get(f"/jobs/{job_id}/why")
    reason = answer["reason"]
    click.echo(f"{answer['state_word']}: {reason['sentence'] if reason else message('It does not wait.')}")
