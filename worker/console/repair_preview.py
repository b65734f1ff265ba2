"""Print the preview of a repair, with the database or without it."""

from collections.abc import Iterator

from cluster import words
from cluster.domain.repairs.definition import Repair, RepairGroup
from cluster.services.context import Cluster
from cluster.services.repairs.past_runs import RepairSummary
from cluster.services.repairs.repair_preview import RepairPreview
from worker.bootstrap.terminal import language_of_terminal
from worker.console.progress_table import verdict_name
from worker.console.prompt import bilingual_text, console_text, print_line, print_title, terminal_sentence


def group_titles() -> dict[RepairGroup, str]:
    return {group: words.word("repair.group", group, language_of_terminal()) for group in RepairGroup}


def describe_last_run(cluster: Cluster, shown: RepairSummary) -> str:
    if shown.last is None or shown.last.verdict is None or shown.last.ended_at is None:
        return console_text("never run")
    when = words.format_short_datetime(shown.last.ended_at, cluster.settings.zone, cluster.clock())
    return f"{verdict_name(shown.last.verdict)}, {when}"


def show_repair_steps(repair: Repair, host: str) -> None:
    """Prints what the repair's two files say; it needs neither the database nor Redis."""
    print_title(bilingual_text(repair.title))
    print_line(bilingual_text(repair.text))
    print_line(console_text("On {host}, in this order:", host=host))
    for number, task in enumerate(repair.tasks, 1):
        print_line(f"  {number}. {bilingual_text(task)}")
    print_line(
        "  " + console_text("Then {count} checks decide, not the exit code.", count=len(repair.checks))
    )
    print_line(console_text("Undo: {how}", how=bilingual_text(repair.undo)))


def show_repair_preview(cluster: Cluster, seen: RepairPreview) -> None:
    show_repair_steps(seen.repair, seen.host)
    for each in describe_consequences(cluster, seen):
        print_line(each)
    for other in seen.gentler:
        print_line(
            console_text(
                "Try first: {title} ({last})",
                title=bilingual_text(other.repair.title),
                last=describe_last_run(cluster, other),
            )
        )


def describe_consequences(cluster: Cluster, seen: RepairPreview) -> Iterator[str]:
    if seen.seconds is None:
        yield console_text("It has not run here yet.")
    else:
        yield console_text(
            "It usually takes {time}.", time=words.format_duration(seen.seconds, language_of_terminal())
        )
    if seen.jobs:
        yield console_text(
            "Jobs that stop: {jobs}", jobs=", ".join(f"job-{job.id} {job.name}" for job in seen.jobs)
        )
    elif seen.jobs_there:
        yield console_text("No job stops; running now: {count}", count=seen.jobs_there)
    else:
        yield console_text("No job runs now.")
    if seen.busy:
        yield console_text("Not drained and empty yet: {names}", names=", ".join(seen.busy))
    for operation in seen.operations:
        kind = words.operation_name(operation.kind, language_of_terminal())
        yield console_text("Begins anew: {operation} ({user})", operation=kind, user=operation.requester.name)
    for leftover in seen.leftovers:
        yield console_text(
            "Is deleted: {path} ({size}), {why}",
            path=leftover.path,
            size=words.format_size(leftover.size),
            why=terminal_sentence(cluster, leftover.code),
        )
    if seen.is_first:
        yield console_text("The first repair on this machine prepares Ansible, which takes a minute or two.")


def show_repair_without_database(repair: Repair, host: str) -> None:
    show_repair_steps(repair, host)
    print_line(
        console_text(
            "Not known while the database is away: jobs that run, operations under way, the last runs."
        )
    )
