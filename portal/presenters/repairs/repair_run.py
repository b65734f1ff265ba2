"""The values of a repair run's page: tasks by host, failures, the transcript and the repairs to try next."""

from dataclasses import dataclass
from typing import Any

from cluster.domain.repairs.definition import Repair, RepairGroup, RepairTargets
from cluster.domain.repairs.run_matrix import FAILED_STATES, RepairVerdict
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.repairs import repair_runs
from cluster.services.repairs.catalogue import list_offered_repairs
from cluster.store.repairs import RepairRun
from portal.job_files.logs.log_chunks import read_log_chunk
from portal.presenters.repairs.repair_texts import localized_text
from portal.web.request_context import current_cluster

LOG_BYTES = 64 * 1024
LONGEST_LINE = 1000
"""The limit for one line of a failure, which Ansible can write with 20 kB. The file for download has all of it."""


@dataclass(frozen=True)
class TranscriptLine:
    """One line of the transcript; `kind` is empty, `task`, `changed` or `error`."""

    number: int
    text: str
    kind: str


def task_rows(run: RepairRun, repair: Repair | None) -> list[dict[str, Any]]:
    """One row per task, named in the reader's language; a task that never began has `not_run` for every host."""
    titles = {task.en: localized_text(task) for task in repair.tasks} if repair else {}
    hosts = run.hosts
    return [
        {
            "word": titles.get(task["name"], task["name"]),
            "cells": [
                (host, task["hosts"].get(host, "not_run"), task.get("lines", {}).get(host)) for host in hosts
            ],
            "seconds": task.get("seconds"),
            "output": task.get("output") or {},
        }
        for task in run.tasks
    ]


def first_failure(run: RepairRun) -> int | None:
    """The line of the log at which the first failed cell's output begins."""
    for task in run.tasks:
        for host, cell in task["hosts"].items():
            if cell in FAILED_STATES:
                return int(task.get("lines", {}).get(host) or 1)
    return None


def failed_nodes(run: RepairRun) -> list[int]:
    """The ids of the nodes on which a task failed, so that the repair can be repeated there alone.

    Empty while the run goes on, for a run on one host, and if it failed on every host.
    """
    if run.ended_at is None or len(run.hosts) < 2:
        return []
    bad = {host for task in run.tasks for host, cell in task["hosts"].items() if cell in FAILED_STATES}
    return repair_runs.read_node_ids(current_cluster(), bad) if 0 < len(bad) < len(run.hosts) else []


def next_repairs(run: RepairRun) -> list[tuple[Repair, list[int]]]:
    """The repairs to try after a run that did not help, each with the ids of the nodes where it did not help.

    They are the repairs that name the one that ran as gentler.
    """
    if run.verdict is not RepairVerdict.NOT_VERIFIED:
        return []
    cluster = current_cluster()
    repairs = [
        entry.repair for entry in list_offered_repairs(cluster).values() if run.name in entry.repair.gentler
    ]
    nodes = failed_nodes(run) or repair_runs.read_node_ids(cluster, run.hosts)
    ways = [(repair, nodes if repair.targets is RepairTargets.NODES else []) for repair in repairs]
    return sorted(ways, key=lambda way: list(RepairGroup).index(way[0].group))


def read_transcript(run: RepairRun) -> list[TranscriptLine]:
    """The transcript so far, its beginning if it is very long; empty before the playbook runs."""
    name = f"operation-{run.operation_id or run.offline_record}.log"
    try:
        with open_file_beneath(current_cluster().settings.state_dir, "log", name) as file:
            text = read_log_chunk(file, 0, LOG_BYTES).text
    except (FileMissing, FileNotPlain):
        return []
    return [
        TranscriptLine(number, shorten_line(line), transcript_line_kind(line))
        for number, line in enumerate(text.splitlines(), 1)
    ]


def shorten_line(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def transcript_line_kind(line: str) -> str:
    if line.startswith(("fatal:", "failed:")):
        return "error"
    if line.startswith("changed:"):
        return "changed"
    return "task" if line.startswith(("TASK ", "PLAY ")) else ""
