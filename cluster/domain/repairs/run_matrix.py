"""Turn ansible-runner's events into one line per task and one state per host, and decide a run's verdict from its
checks."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from unicodedata import category


class HostTaskState(StrEnum):
    RUNNING = "running"
    OK = "ok"
    CHANGED = "changed"
    SKIPPED = "skipped"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    NOT_RUN = "not_run"


FAILED_STATES = (HostTaskState.FAILED, HostTaskState.UNREACHABLE)


class RepairVerdict(StrEnum):
    """How a run ended. The checks decide it; a playbook's exit code alone never does."""

    VERIFIED = "verified"
    NOT_VERIFIED = "not_verified"
    CANCELLED = "cancelled"
    BROKEN = "broken"
    """It could not run at all: no environment, a changed playbook, a runner that disappeared."""
    DRY_RUN = "looked_ahead"
    """Nothing was changed, and so nothing was verified: its tasks say what they would change."""


@dataclass
class TaskProgress:
    """`seconds` is None while it runs; `line` where its output begins in the log, from 1."""

    name: str
    hosts: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    seconds: float | None = None
    output: dict[str, str] = field(default_factory=dict)
    """The error output of each failed host."""

    def to_data(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "hosts": dict(self.hosts),
            "lines": dict(self.lines),
            "seconds": self.seconds,
            "output": dict(self.output),
        }


STATE_OF_EVENT = {
    "runner_on_ok": HostTaskState.OK,
    "runner_on_failed": HostTaskState.FAILED,
    "runner_on_skipped": HostTaskState.SKIPPED,
    "runner_on_unreachable": HostTaskState.UNREACHABLE,
}
LONGEST_OUTPUT = 2000
UNREADABLE = "\N{REPLACEMENT CHARACTER}"


class TaskMatrix:
    """The state of each planned task on each host, from ansible-runner's events in their order."""

    def __init__(self, planned: Iterable[str]) -> None:
        self.tasks = {name: TaskProgress(name) for name in planned}

    def add_events(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Events of other tasks and those of no host are ignored."""
        for event in events:
            data = event.get("event_data") or {}
            task, host = self.tasks.get(str(data.get("task", ""))), str(data.get("host", ""))
            if task is None or not host:
                continue
            kind = str(event.get("event"))
            if kind == "runner_on_start":
                task.hosts.setdefault(host, HostTaskState.RUNNING)
            elif kind in STATE_OF_EVENT:
                line = int(event.get("start_line") or 0) + 1
                record_host_result(task, host, STATE_OF_EVENT[kind], data, line)

    def to_data(self) -> list[dict[str, Any]]:
        """In the order of the plan; planned tasks that never began have no host."""
        return [task.to_data() for task in self.tasks.values()]

    def share_done(self) -> float:
        """0 to 1: how many of the planned tasks have ended on all their hosts."""
        ended = [
            task
            for task in self.tasks.values()
            if task.hosts and HostTaskState.RUNNING not in task.hosts.values()
        ]
        return len(ended) / len(self.tasks) if self.tasks else 0.0


def record_host_result(
    task: TaskProgress, host: str, cell: HostTaskState, data: Mapping[str, Any], line: int
) -> None:
    result = data.get("res") or {}
    if cell is HostTaskState.OK and result.get("changed"):
        cell = HostTaskState.CHANGED
    if cell is HostTaskState.FAILED and data.get("ignore_errors"):
        cell = HostTaskState.OK
    task.hosts[host] = cell
    task.lines[host] = line
    task.seconds = max(task.seconds or 0.0, round(float(data.get("duration") or 0.0), 2))
    if cell in FAILED_STATES:
        task.output[host] = to_printable("\n".join(error_lines(result))[:LONGEST_OUTPUT])


def error_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Of a task that did several things: of each that went wrong, for the whole only says that all were done."""
    parts = result.get("results")
    for part in parts if isinstance(parts, list) else ():
        if part.get("failed") or part.get("unreachable"):
            yield f"{part.get('item', '')}: {host_error_text(part)}"
    if not isinstance(parts, list):
        yield host_error_text(result)


def host_error_text(result: Mapping[str, Any]) -> str:
    return str(result.get("stderr") or result.get("msg") or "")


def to_printable(text: str) -> str:
    """Without what a program may have said to a terminal: neither PostgreSQL's JSON nor a console takes every sign."""
    return "".join(
        UNREADABLE if category(sign) in ("Cc", "Cs") and sign not in "\n\t" else sign for sign in text
    )


def decide_verdict(checks: Iterable[Mapping[str, Any]], was_cancelled: bool) -> RepairVerdict:
    """`checks` are [{code, data, is_ok}]; without a single check nothing is verified."""
    answers = [bool(check["is_ok"]) for check in checks]
    if answers and all(answers):
        return RepairVerdict.VERIFIED
    return RepairVerdict.CANCELLED if was_cancelled else RepairVerdict.NOT_VERIFIED
