"""What a repair would do, said before it is asked for: all of it, or what can be said without the database."""

from collections.abc import Iterator

from cluster import words
from cluster.domain.repairs import Group, Repair
from cluster.services.context import Cluster
from cluster.services.repairs import Forecast, Shown
from worker.console.matrix import verdict_word
from worker.console.terminal import in_words, line, said, text, title
from worker.embedded.say import language


def group_words() -> dict[Group, str]:
    return {
        Group.CHECK: text("Check and keep safe"),
        Group.MEND: text("Mend"),
        Group.DANGEROUS: text("Dangerous: cannot be undone"),
    }


def last_time(cluster: Cluster, shown: Shown) -> str:
    if shown.last is None or shown.last.verdict is None or shown.last.ended_at is None:
        return text("never run")
    when = words.clock(shown.last.ended_at, cluster.settings.zone, cluster.clock())
    return f"{verdict_word(shown.last.verdict)}, {when}"


def show_repair(repair: Repair, host: str) -> None:
    """What its two files say: known whatever is away."""
    title(in_words(repair.title))
    line(in_words(repair.text))
    line(text("On {host}, in this order:", host=host))
    for number, task in enumerate(repair.tasks, 1):
        line(f"  {number}. {in_words(task)}")
    line("  " + text("Then {count} checks decide, not the exit code.", count=len(repair.checks)))
    line(text("Undo: {how}", how=in_words(repair.undo)))


def show_forecast(cluster: Cluster, seen: Forecast) -> None:
    show_repair(seen.repair, seen.host)
    for each in facts_of(cluster, seen):
        line(each)
    for other in seen.gentler:
        line(
            text(
                "Try first: {title} ({last})",
                title=in_words(other.repair.title),
                last=last_time(cluster, other),
            )
        )


def facts_of(cluster: Cluster, seen: Forecast) -> Iterator[str]:
    if seen.seconds is None:
        yield text("It has not run here yet.")
    else:
        yield text("It usually takes {time}.", time=words.duration(seen.seconds, language()))
    if seen.jobs:
        yield text("Jobs that stop: {jobs}", jobs=", ".join(f"job-{job.id} {job.name}" for job in seen.jobs))
    elif seen.jobs_there:
        yield text("No job stops; running now: {count}", count=seen.jobs_there)
    else:
        yield text("No job runs now.")
    if seen.busy:
        yield text("Not drained and empty yet: {names}", names=", ".join(seen.busy))
    for operation in seen.operations:
        kind = words.operation(operation.kind, language())
        yield text("Begins anew: {operation} ({user})", operation=kind, user=operation.requester.name)
    for leftover in seen.leftovers:
        yield text("Is deleted: {path} ({size}), {why}", path=leftover.path, size=words.size(leftover.size),
                   why=said(cluster, leftover.code))  # fmt: skip
    if seen.is_first:
        yield text("The first repair on this machine prepares Ansible, which takes a minute or two.")


def show_without_database(repair: Repair, host: str) -> None:
    show_repair(repair, host)
    line(text("Not known while the database is away: jobs that run, operations under way, the last runs."))
