"""What a run's events come to: one line per task, one cell per host; and what the checks afterwards decide."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from unicodedata import category


class Cell(StrEnum):
    RUNNING = "running"
    OK = "ok"
    CHANGED = "changed"
    SKIPPED = "skipped"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    NOT_RUN = "not_run"


BAD_CELLS = (Cell.FAILED, Cell.UNREACHABLE)


class Verdict(StrEnum):
    """How a run ended. The checks decide it; a playbook's exit code alone never does."""

    VERIFIED = "verified"
    NOT_VERIFIED = "not_verified"
    CANCELLED = "cancelled"
    BROKEN = "broken"
    """It could not run at all: no environment, a changed playbook, a runner that disappeared."""
    LOOKED_AHEAD = "looked_ahead"
    """Nothing was changed, and so nothing was verified: its tasks say what they would change."""


@dataclass
class Task:
    """`seconds` is None while it runs; `line` where its output begins in the log, from 1."""

    name: str
    hosts: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    seconds: float | None = None
    output: dict[str, str] = field(default_factory=dict)
    """What a failed host said."""

    def to_data(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "hosts": self.hosts,
            "lines": self.lines,
            "seconds": self.seconds,
            "output": self.output,
        }


ENDS = {
    "runner_on_ok": Cell.OK,
    "runner_on_failed": Cell.FAILED,
    "runner_on_skipped": Cell.SKIPPED,
    "runner_on_unreachable": Cell.UNREACHABLE,
}
LONGEST_OUTPUT = 2000
UNREADABLE = "\N{REPLACEMENT CHARACTER}"


def matrix_of(events: Iterable[Mapping[str, Any]], planned: Iterable[str]) -> list[Task]:
    """From ansible-runner's events in their order; planned tasks that never began have no host."""
    tasks = {name: Task(name) for name in planned}
    for event in events:
        data = event.get("event_data") or {}
        name = str(data.get("task", ""))
        host = str(data.get("host", ""))
        if name not in tasks or not host:
            continue
        task = tasks[name]
        kind = str(event.get("event"))
        if kind == "runner_on_start":
            task.hosts.setdefault(host, Cell.RUNNING)
        elif kind in ENDS:
            settle(task, host, ENDS[kind], data, int(event.get("start_line") or 0) + 1)
    return list(tasks.values())


def settle(task: Task, host: str, cell: Cell, data: Mapping[str, Any], line: int) -> None:
    result = data.get("res") or {}
    if cell is Cell.OK and result.get("changed"):
        cell = Cell.CHANGED
    if cell is Cell.FAILED and data.get("ignore_errors"):
        cell = Cell.OK
    task.hosts[host] = cell
    task.lines[host] = line
    task.seconds = max(task.seconds or 0.0, round(float(data.get("duration") or 0.0), 2))
    if cell in BAD_CELLS:
        task.output[host] = readable("\n".join(words_of(result))[:LONGEST_OUTPUT])


def words_of(result: Mapping[str, Any]) -> Iterator[str]:
    """Of a task that did several things: of each that went wrong, for the whole only says that all were done."""
    parts = result.get("results")
    for part in parts if isinstance(parts, list) else ():
        if part.get("failed") or part.get("unreachable"):
            yield f"{part.get('item', '')}: {one_word(part)}"
    if not isinstance(parts, list):
        yield one_word(result)


def one_word(result: Mapping[str, Any]) -> str:
    return str(result.get("stderr") or result.get("msg") or "")


def readable(text: str) -> str:
    """Without what a program may have said to a terminal: neither PostgreSQL's JSON nor a console takes every sign."""
    return "".join(
        UNREADABLE if category(sign) in ("Cc", "Cs") and sign not in "\n\t" else sign for sign in text
    )


def share_done(tasks: Iterable[Task]) -> float:
    """0 to 1: how many of the planned tasks have ended on all their hosts."""
    found = list(tasks)
    ended = [task for task in found if task.hosts and Cell.RUNNING not in task.hosts.values()]
    return len(ended) / len(found) if found else 0.0


def verdict_of(checks: Iterable[Mapping[str, Any]], was_cancelled: bool) -> Verdict:
    """`checks` are [{code, data, is_ok}]; without a single check nothing is verified."""
    answers = [bool(check["is_ok"]) for check in checks]
    if answers and all(answers):
        return Verdict.VERIFIED
    return Verdict.CANCELLED if was_cancelled else Verdict.NOT_VERIFIED
