"""Turn ansible-runner's events into one line per task and one state per host, and decide a run's verdict from its
checks.
"""

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
    """The outcome of a run. The checks decide it; a playbook's exit code counts if the repair only reads."""

    VERIFIED = "verified"
    NOT_VERIFIED = "not_verified"
    CANCELLED = "cancelled"
    BROKEN = "broken"
    """The repair could not run: no Ansible, a changed playbook, or a process that disappeared."""
    DRY_RUN = "looked_ahead"
    """Nothing was changed, so nothing was verified. The tasks say what they would change."""


@dataclass
class TaskProgress:
    """`seconds` is None while the task runs. `line` is the first line of its output in the log, counted from 1."""

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
    """The state of each planned task on each host, from the order of ansible-runner's events."""

    def __init__(self, planned: Iterable[str]) -> None:
        self.tasks = {name: TaskProgress(name) for name in planned}

    def add_events(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Adds events. Events of other tasks and events without a host are ignored."""
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
        """The tasks in the order of the plan. A planned task that never began has no host."""
        return [task.to_data() for task in self.tasks.values()]

    def share_done(self) -> float:
        """The share of planned tasks that have ended on all their hosts, 0 to 1."""
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
    """Returns the errors of each failed item of a loop, because the task itself only says that all items were done."""
    parts = result.get("results")
    for part in parts if isinstance(parts, list) else ():
        if part.get("failed") or part.get("unreachable"):
            yield f"{part.get('item', '')}: {host_error_text(part)}"
    if not isinstance(parts, list):
        yield host_error_text(result)


def host_error_text(result: Mapping[str, Any]) -> str:
    return str(result.get("stderr") or result.get("msg") or "")


def to_printable(text: str) -> str:
    """Removes control characters, because neither PostgreSQL's JSON nor a terminal accepts all of them."""
    return "".join(
        UNREADABLE if category(sign) in ("Cc", "Cs") and sign not in "\n\t" else sign for sign in text
    )


def decide_verdict(
    checks: Iterable[Mapping[str, Any]], was_cancelled: bool, has_failed_to_check: bool = False
) -> RepairVerdict:
    """`checks` are [{code, data, is_ok}]. Without a check nothing is verified.

    Only its checks decide about a repair that changes something, however its playbook ended. The playbook of a repair
    that only reads is itself a check: `has_failed_to_check` says that it failed.
    """
    answers = [bool(check["is_ok"]) for check in checks]
    if answers and all(answers) and not has_failed_to_check:
        return RepairVerdict.VERIFIED
    return RepairVerdict.CANCELLED if was_cancelled else RepairVerdict.NOT_VERIFIED
