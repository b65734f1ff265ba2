"""`groundcrew job …`: submit, list, show, logs, cancel, why."""

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import click

from ..client import EXIT_FAILED, EXIT_TIMED_OUT, RestClient, exit_unless_confirmed
from ..messages import message
from ..output import (
    Table,
    local_datetime,
    output_option,
    readable_size,
    show_document,
    show_facts,
    show_table,
)
from .job_files import files, metrics, pull
from .submission import (
    do_each,
    id_argument,
    ids_argument,
    parse_id,
    parse_seconds,
    parse_variables,
    submission_options,
    submit_request,
)

ORDERS = ("newest", "oldest", "best", "worst", "ended")
LIVE_STATES = ("waiting", "starting", "running", "stopping")
POLL_SECONDS = 1.0

job_argument = id_argument("job")
jobs_argument = ids_argument("job")


@click.group()
def job() -> None:
    """Submit, follow and stop jobs."""


job.add_command(files)
job.add_command(pull)
job.add_command(metrics)


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


@job.command("continue")
@job_argument
@click.option("-n", "--name", default="")
@click.pass_obj
def continue_(client: RestClient, job_id: int, name: str) -> None:
    """Submit a job that begins with the newest checkpoint of a stopped or failed one."""
    body: dict[str, object] = {"continue_from": job_id}
    answer = client.post("/jobs", body | ({"name": name} if name else {}))
    click.echo(message("job-{id} submitted.", id=answer["id"]), err=True)
    click.echo(f"job-{answer['id']}")


def wait_for_end(client: RestClient, job_id: int, timeout: int | None) -> int:
    """Returns the exit code: 0 finished, 1 failed or stopped, 124 after `timeout` seconds."""
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
@click.option("--search", default="", help="A part of a name or a note, a tag, a person or a number.")
@click.option("--tag", default="")
@click.option("--order", default="newest", type=click.Choice(ORDERS))
@click.option("--limit", default=50, type=click.IntRange(1, 200))
@output_option
@click.pass_obj
def list_(
    client: RestClient,
    state: str | None,
    mine: bool,
    search: str,
    tag: str,
    order: str,
    limit: int,
    output: str | None,
) -> None:
    """Jobs, newest first unless you ask for another order."""
    query = {"state": state, "mine": str(mine).lower(), "order": order, "limit": limit}
    rows = client.get("/jobs", **query, search=search or None, tag=tag or None)["items"]
    show_table(rows, JOBS, output)


JOBS = Table(
    lambda row: f"job-{row['id']}",
    {
        "Job": lambda row: f"job-{row['id']}",
        "State": lambda row: row["state_word"],
        "Name": lambda row: row["name"],
        "Workspace": lambda row: row["workspace"]["name"],
        "User": lambda row: row["user"]["name"],
        "Units": lambda row: row["units"],
        "Result": lambda row: headline_of(row),
        "Submitted": lambda row: local_datetime(row["submitted_at"]),
        "Why": lambda row: reason_of(row).get("sentence", ""),
    },
    {
        "Training": lambda row: row["training"]["name"],
        "Dataset": lambda row: (row.get("dataset") or {}).get("name", ""),
        "Started": lambda row: local_datetime(row["started_at"]),
        "Ended": lambda row: local_datetime(row["ended_at"]),
        "Exit code": lambda row: "" if row["exit_code"] is None else row["exit_code"],
        "Tags": lambda row: " ".join(row.get("tags") or ()),
        "Note": lambda row: row.get("note") or "",
    },
)


def headline_of(row: dict[str, Any]) -> str:
    """The headline metric in words; empty before anything was measured."""
    headline: dict[str, Any] = row.get("headline") or {}
    return str(headline.get("text", ""))


def reason_of(row: dict[str, Any]) -> dict[str, Any]:
    """Why a job waits, or how it ended; empty while it runs."""
    reason: dict[str, Any] = row.get("waiting") or row.get("end") or {}
    return reason


@job.command()
@jobs_argument
@output_option
@click.pass_obj
def show(client: RestClient, job_ids: tuple[int, ...], output: str | None) -> None:
    """Jobs with their facts."""
    if len(job_ids) > 1 and output in ("json", "yaml"):
        show_document([client.get(f"/jobs/{job_id}") for job_id in job_ids], output)
        return

    def show_job(job_id: int) -> None:
        row = client.get(f"/jobs/{job_id}")
        show_facts(row, f"job-{job_id}", lambda: job_facts(row), output)
        if output is None and sys.stdout.isatty():
            for line in failure_lines(row.get("failure")):
                click.echo(line)

    do_each("job", job_ids, show_job)


def describe_commit(commit: dict[str, str] | None) -> str:
    return f"{commit['id']} {commit['subject']} ({commit['author']})" if commit else ""


def failure_lines(failure: dict[str, Any] | None) -> Iterator[str]:
    """The lines of the log that say why a job failed, the deciding one marked, and what to do."""
    if not failure:
        return
    if failure["lines"]:
        rank = failure["rank"]
        log = message("launcher") if rank == "launcher" else message("rank {number}", number=rank)
        yield f"{log}, {failure['stream']}:"
        yield from (f"{'>' if line == failure['error'] else ' '} {line}" for line in failure["lines"])
    if failure["symptom"]:
        yield failure["symptom"]["sentence"]
    if failure["hint"]:
        yield failure["hint"]


def job_facts(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "Job": f"job-{row['id']}",
        "State": row["state_word"],
        "Why": reason_of(row).get("sentence"),
        "Error": (row.get("failure") or {}).get("error"),
        "Name": row["name"],
        "Workspace": row["workspace"]["name"],
        "Training": row["training"]["name"],
        "Code version": row.get("code_version"),
        "Ran in": (row.get("ran_in") or {}).get("name"),
        "Commit": describe_commit(row.get("commit")),
        "User": row["user"]["name"],
        "Units": row["units"],
        "Dataset": (row.get("dataset") or {}).get("name"),
        "Variables": " ".join(f"{name}={value}" for name, value in row["variables"].items()),
        "Command": shlex.join(row["command"]),
        "Submitted": local_datetime(row["submitted_at"]),
        "Started": local_datetime(row["started_at"]),
        "Ended": local_datetime(row["ended_at"]),
        "Attempts": row["attempts"],
        "Exit code": row["exit_code"],
        "Files": (row.get("files_deleted") or {}).get("sentence") or readable_size(row.get("storage_bytes")),
        "Page": row["url"],
    }


@job.command()
@job_argument
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--rank", default=0, type=click.IntRange(0, 9999))
@click.option("--stderr", "stream", flag_value="stderr")
@click.option("--stdout", "stream", flag_value="stdout", default="stdout")
@click.option("--from-start", is_flag=True, help="The whole log instead of its last 64 KiB.")
@click.option("--merged", is_flag=True, help="The last lines of all ranks and streams, by their times.")
@click.option(
    "--grep", "text", default=None, help="Lines of all ranks and streams with this text; first errors first."
)
@click.pass_obj
def logs(
    client: RestClient,
    job_id: int,
    follow: bool,
    rank: int,
    stream: str | None,
    from_start: bool,
    merged: bool,
    text: str | None,
) -> None:
    """Print the log of one rank, or of all. With -f a waiting job says on stderr what it waits for."""
    if text is not None:
        print_log_matches(client.get(f"/jobs/{job_id}/log/search", text=text))
        return
    if merged:
        print_log_lines(client.get(f"/jobs/{job_id}/log/merged")["lines"])
        return
    offset = 0 if from_start or follow else -65536
    reason = ""
    while True:
        row = client.get(f"/jobs/{job_id}")
        living = row["state"] in LIVE_STATES
        if follow and living and (sentence := (row.get("waiting") or {}).get("sentence", "")) != reason:
            reason = sentence
            click.echo(sentence or row["state_word"], err=True)
        offset, size = print_log_chunk(client, job_id, rank, stream or "stdout", offset)
        if offset < size:
            continue
        if not (follow and living):
            return
        time.sleep(POLL_SECONDS)


def print_log_matches(found: dict[str, Any]) -> None:
    """The first error goes to stderr, so that a pipe has the matches alone. Ends with 1 if there is no match."""
    if error := found["first_error"]:
        place = f"{error['source']}.{error['stream']}:{error['line']}"
        click.echo(message("First error, {place}: {text}", place=place, text=error["text"]), err=True)
    print_log_lines(found["matches"])
    if found["count"] > len(found["matches"]) or not found["covers_all"]:
        click.echo(message("There may be more lines than these."), err=True)
    if not found["count"]:
        raise SystemExit(1)


def print_log_lines(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        number = f":{line['line']}" if "line" in line else ""
        when = local_datetime(line["time"]) if line["time"] else "–"
        click.echo(f"{when} {line['source']}.{line['stream']}{number}: {line['text']}")


def print_log_chunk(client: RestClient, job_id: int, rank: int, stream: str, offset: int) -> tuple[int, int]:
    """Writes the bytes unchanged. Returns the offset of the next chunk and the length of the log."""
    query = {"source": f"rank-{rank}", "stream": stream, "offset": offset}
    answer = client.request("GET", f"/jobs/{job_id}/log", query)
    sys.stdout.buffer.write(answer.content)
    sys.stdout.buffer.flush()
    return int(answer.headers["X-Log-Next"]), int(answer.headers["X-Log-Size"])


def post_each(client: RestClient, job_ids: tuple[int, ...], verb: str, say: Callable[[int], str]) -> None:
    """Change each job by POST /jobs/{id}/{verb}, and print what `say` says of it."""

    def change(job_id: int) -> None:
        client.post(f"/jobs/{job_id}/{verb}")
        click.echo(say(job_id))

    do_each("job", job_ids, change)


@job.command()
@jobs_argument
@click.pass_obj
def cancel(client: RestClient, job_ids: tuple[int, ...]) -> None:
    """Stop jobs."""
    post_each(client, job_ids, "stop", lambda job_id: message("job-{id} is being stopped.", id=job_id))


@job.command()
@jobs_argument
@click.pass_obj
def rerun(client: RestClient, job_ids: tuple[int, ...]) -> None:
    """Submit jobs again as they were, with the same code version: all of them or none."""
    for row in client.post("/jobs/rerun", {"job_ids": list(job_ids)})["items"]:
        click.echo(message("job-{id} submitted.", id=row["id"]))


@job.command()
@jobs_argument
@click.option("--add", multiple=True, metavar="TAG")
@click.option("--remove", multiple=True, metavar="TAG")
@click.pass_obj
def tag(client: RestClient, job_ids: tuple[int, ...], add: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Add and remove tags of jobs."""
    body = {"job_ids": list(job_ids), "add": list(add), "remove": list(remove)}
    for row in client.post("/jobs/tags", body)["items"]:
        click.echo(f"job-{row['id']}  {' '.join(row['tags']) or '-'}")


@job.command()
@jobs_argument
@click.option("--text", required=True, help="The note; an empty one removes it.")
@click.pass_obj
def note(client: RestClient, job_ids: tuple[int, ...], text: str) -> None:
    """Write the same note into jobs."""
    for row in client.post("/jobs/note", {"job_ids": list(job_ids), "note": text})["items"]:
        click.echo(f"job-{row['id']}  {row['note'] or '-'}")


@job.command("delete-files")
@jobs_argument
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def delete_files(client: RestClient, job_ids: tuple[int, ...], yes: bool) -> None:
    """Delete the files of ended jobs: logs, graphs, checkpoints. Their numbers stay."""
    rows = [client.get(f"/jobs/{job_id}") for job_id in job_ids]
    for row in rows:
        click.echo(f"job-{row['id']}  {row['name']}  {readable_size(row['storage_bytes'])}")
    exit_unless_confirmed(message("Delete the files of {count} jobs for good?", count=len(rows)), yes)
    client.post("/jobs/delete-files", {"job_ids": list(job_ids)})
    click.echo(message("The files of {count} jobs are being deleted.", count=len(rows)))


@job.command()
@jobs_argument
@click.pass_obj
def hold(client: RestClient, job_ids: tuple[int, ...]) -> None:
    """Keep waiting jobs from starting. For the workspace's manager."""
    post_each(client, job_ids, "hold", lambda job_id: message("job-{id} is held.", id=job_id))


@job.command()
@jobs_argument
@click.pass_obj
def release(client: RestClient, job_ids: tuple[int, ...]) -> None:
    """Let held jobs go. For the workspace's manager."""
    post_each(
        client, job_ids, "release", lambda job_id: message("job-{id} waits again where it stood.", id=job_id)
    )


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
        body["before"] = parse_id("job", before)
    answer = client.post(f"/jobs/{job_id}/move", body)
    click.echo(f"{answer['state_word']}: {answer['waiting']['sentence']}")


@job.command()
@jobs_argument
@click.pass_obj
def why(client: RestClient, job_ids: tuple[int, ...]) -> None:
    """Why jobs wait, how they ended, and why they failed."""

    def print_reason(job_id: int) -> None:
        answer = client.get(f"/jobs/{job_id}/why")
        reason = answer["reason"]["sentence"] if answer["reason"] else message("It does not wait.")
        head = f"job-{job_id}: " if len(job_ids) > 1 else ""
        click.echo(f"{head}{answer['state_word']}: {reason}")
        for line in failure_lines(answer.get("failure")):
            click.echo(line)

    do_each("job", job_ids, print_reason)
