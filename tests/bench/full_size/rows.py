"""The rows of an installation of any size, made without a database: table by table, in the order of their keys.

The same size gives the same rows, byte for byte. Moments are text in UTC and JSON is text, as SQLite keeps them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect

from cluster.domain.audit_seals import EntryDigester, derive_seal_key, seal_key_id, seal_mac
from cluster.domain.queue.reasons import QuotaTooSmall, RetryAfterFailure, to_waiting_data
from cluster.domain.states import UnitKind
from cluster.services.audit.log_lines import LAST_WRITTEN_FACT
from cluster.services.audit.seals import BATCH, SEALED_COUNT_FACT
from cluster.store.audit import AuditEntry, AuditSeal
from cluster.store.datasets import Dataset
from cluster.store.facts import InstallationFact
from cluster.store.jobs import Attempt, Job, JobEvent, Sweep, first_position, job_shape
from cluster.store.nodes import Allocation, Node, Unit
from cluster.store.operations import Operation
from cluster.store.queue import QueueTotal
from cluster.store.repairs import RepairRun
from cluster.store.trainings import Training
from cluster.store.users import User
from cluster.store.workspaces import Workspace, WorkspaceMember
from tests.bench.full_size.sizes import (
    HISTORY,
    NODES_PER_GROUP,
    SEAL_SECRET,
    UNITS_PER_NODE,
    UNTIL,
    InstallationSize,
)

BEGIN = UNTIL - HISTORY
SHARES = ((0, 8),), ((0, 4), (4, 4)), ((0, 4), (4, 2), (6, 2)), ((0, 1), (1, 1), (2, 1), (3, 1), (4, 4))
"""How each node of a group is dealt out in a time slot: (first unit, units) of each job."""
PLACES = tuple((node, first, units) for node, jobs in enumerate(SHARES) for first, units in jobs)
"""One per job of a slot: no unit is held twice at any moment."""
WAITING_UNITS = 16
"""Of each waiting job: more than its workspace's quota."""
TRAININGS_PER_WORKSPACE = 5
SWEEP_JOBS = 25
PASSWORD_HASH = "$argon2id$v=19$m=65536,t=3,p=4$bm9ib2R5IGNhbiBzaWdu$aW4gd2l0aCB0aGlzIG9uZQ"  # Nobody's.
AUDIT_ACTIONS = (
    (450, "job.submitted"),
    (650, "session.begun"),
    (750, "session.ended"),
    (800, "job.stop_requested"),
    (850, "token.created"),
    (900, "session.refused"),
    (930, "dataset.created"),
    (950, "training.created"),
    (970, "training.code_uploaded"),
    (980, "workspace.edited"),
    (990, "user.preferences_set"),
    (995, "node.drained"),
    (999, "operation.retried"),
)
"""(below this of 1,000, action); the last one of 1,000 is `job.held`, and of 100,000 `backup.asked`."""
RARE_EVERY = 100_000


@dataclass(frozen=True)
class TableRows:
    """`rows` are tuples of the values of `columns`."""

    table: Table
    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]

    @property
    def defaults(self) -> dict[str, Any]:
        """The values, as SQLite keeps them, of columns that the rows do not name and that want one."""
        return {
            column.name: stored_default(column)
            for column in self.table.columns
            if column.name not in self.columns and column.default is not None
        }


def stored_default(column: Any) -> Any:
    value = column.default.arg(None) if column.default.is_callable else column.default.arg
    dialect = sqlite_dialect()
    process: Callable[[Any], Any] | None = column.type.dialect_impl(dialect).bind_processor(dialect)
    return process(value) if process else value


def moment(seconds: float) -> str:
    """So many seconds after BEGIN."""
    return (BEGIN + timedelta(seconds=seconds)).isoformat(" ", "microseconds")[:26]


def as_json(value: Any) -> str:
    return json.dumps(value)


def all_rows(size: InstallationSize) -> Iterator[TableRows]:
    """Every table that has rows, each after those that it refers to."""
    makers = (users, workspaces, members, datasets, trainings, nodes, units, sweeps, jobs, attempts)
    yield from (make(size) for make in (*makers, allocations, events, queue_totals, operations, repair_runs))
    yield from audit(size)


def table_rows(row: type[Any], columns: str, rows: Iterator[Sequence[Any]]) -> TableRows:
    return TableRows(row.__table__, tuple(columns.split()), rows)


# People and what belongs to them


def administrator_ids(size: InstallationSize) -> list[int]:
    return list(range(1, size.administrators + 1))


def user_name(size: InstallationSize, user_id: int) -> str:
    return f"admin-{user_id:02}" if user_id <= size.administrators else f"person-{user_id:02}"


def manager_id(size: InstallationSize, workspace_id: int) -> int:
    return size.administrators + workspace_id


@cache
def member_ids(size: InstallationSize, workspace_id: int) -> tuple[int, ...]:
    """The manager first."""
    others = size.people - size.administrators
    first = manager_id(size, workspace_id)
    more = [size.administrators + 1 + (workspace_id * 7 + step * 11) % others for step in range(6)]
    return tuple(dict.fromkeys([first, *more]))


def users(size: InstallationSize) -> TableRows:
    rows = (
        (
            user_id,
            user_name(size, user_id),
            f"Person {user_id}",
            "administrator" if user_id <= size.administrators else "user",
            "active",
            PASSWORD_HASH,
            moment(0),
        )
        for user_id in range(1, size.people + 1)
    )
    return table_rows(User, "id name full_name role state password_hash created_at", rows)


def workspaces(size: InstallationSize) -> TableRows:
    def rows() -> Iterator[Sequence[Any]]:
        for number in range(1, size.workspaces + 1):
            is_last = number == size.workspaces
            quota = size.measured_quota if is_last else size.quota
            name = "measured" if is_last else f"workspace-{number:02}"
            begins = BEGIN.date().isoformat()
            yield (
                number, name, begins, "2036-12-31", quota, manager_id(size, number), number % 6 + 1, moment(0), 0,
            )  # fmt: skip

    columns = "id name starts_on ends_on units manager_id colour created_at last_turn_attempt_id"
    return table_rows(Workspace, columns, rows())


def members(size: InstallationSize) -> TableRows:
    rows = (
        (workspace_id, user_id)
        for workspace_id in range(1, size.workspaces + 1)
        for user_id in member_ids(size, workspace_id)
    )
    return table_rows(WorkspaceMember, "workspace_id user_id", rows)


def datasets(size: InstallationSize) -> TableRows:
    rows = (
        (number, number, "digits", "sample", "ready", 1797, 1_420_000, manager_id(size, number), moment(0))
        for number in range(1, size.workspaces + 1)
    )
    return table_rows(Dataset, "id workspace_id name kind state files bytes created_by created_at", rows)


def workspace_of_training(size: InstallationSize, training_id: int) -> int:
    return min((training_id - 1) // TRAININGS_PER_WORKSPACE + 1, size.workspaces)


def is_own_code(training_id: int) -> bool:
    return training_id % 5 == 1


def owner_of_training(size: InstallationSize, training_id: int) -> int:
    people = member_ids(size, workspace_of_training(size, training_id))
    return people[training_id % len(people)]


def trainings(size: InstallationSize) -> TableRows:
    """Each fifth is own code, each fifth is private."""
    rows = (
        (
            number,
            workspace_of_training(size, number),
            f"training-{number:03}",
            "advanced" if is_own_code(number) else "built_in",
            None if is_own_code(number) else "lenet",
            "private" if number % 5 == 0 else "public",
            owner_of_training(size, number),
            1 if is_own_code(number) else 0,
            moment(0),
        )
        for number in range(1, size.trainings + 1)
    )
    columns = "id workspace_id name kind model visibility owner_id code_version created_at"
    return table_rows(Training, columns, rows)


# Nodes


def node_name(node_id: int) -> str:
    return f"gpu{node_id:03}"


def unit_id(node_id: int, position: int) -> int:
    return (node_id - 1) * UNITS_PER_NODE + position + 1


def unit_identity(node_id: int, position: int) -> str:
    return f"GPU-{node_id:08x}-{position:04x}"


def node_facts() -> dict[str, Any]:
    interfaces = [{"name": f"eth{number}", "speed": 100_000, "is_up": True} for number in range(2)]
    return {"cpus": 128, "memory_bytes": 2**40, "disk_bytes": 2**42, "disk_free_bytes": 2**41, "system": "Debian"} | {
        "driver": "570.86.15", "interfaces": interfaces, "fabric": "ib0",
    }  # fmt: skip


def nodes(size: InstallationSize) -> TableRows:
    facts = as_json(node_facts())
    rows = (
        (
            number,
            node_name(number),
            f"boot-{number}",
            1,
            moment(HISTORY.total_seconds()),
            facts,
            "ib0",
            moment(0),
        )
        for number in range(1, size.nodes + 1)
    )
    columns = "id name boot_id has_executor heartbeat_at facts fabric created_at"
    return table_rows(Node, columns, rows)


def units(size: InstallationSize) -> TableRows:
    rows = (
        (
            unit_id(node_id, position),
            node_id,
            unit_identity(node_id, position),
            0,
            position,
            "gpu",
            "ok",
            "H200",
            141 * 2**30,
            f"nvlink-{position // 4}",
        )
        for node_id in range(1, size.nodes + 1)
        for position in range(UNITS_PER_NODE)
    )
    return table_rows(Unit, "id node_id identity slice position kind state model memory_bytes island", rows)


# Jobs


@dataclass(frozen=True)
class PlannedJob:
    """Job `id` from its submission to its end; all seconds count from BEGIN."""

    id: int
    state: str
    training_id: int
    workspace_id: int
    user_id: int
    sweep_id: int | None
    node_id: int
    first_unit: int
    units: int
    submitted: float
    tries: tuple[tuple[float, float, float], ...]
    """(placed, started, ended) of each attempt."""

    @property
    def is_own_code(self) -> bool:
        return is_own_code(self.training_id)

    @property
    def end(self) -> tuple[int | None, str | None, dict[str, Any] | None]:
        """Exit code, code and data."""
        if self.state == "finished":
            return 0, "exit.finished", {}
        if self.state == "failed":
            return 1, "exit.error", {"exit_code": 1}
        return (None, "exit.stopped", {}) if self.state == "stopped" else (None, None, None)


def state_of(number: int) -> str:
    """By a permutation of 100, so that each training has jobs in all states."""
    turn = (number * 37 + number // 100 * 13) % 100
    return "finished" if turn < 79 else "failed" if turn < 93 else "stopped" if turn < 99 else "waiting"


def planned_jobs(size: InstallationSize) -> Iterator[PlannedJob]:
    slots = -(-size.jobs // len(PLACES))
    slot_seconds = HISTORY.total_seconds() / slots
    busy = size.trainings - 1
    for number in range(size.jobs):
        slot, place = divmod(number, len(PLACES))
        node, first, count = PLACES[place]
        training = number % busy + 1
        people = member_ids(size, workspace := workspace_of_training(size, training))
        begins = slot * slot_seconds + (number % 999_983 + 1) / 1e6
        state = state_of(number)
        placed, ends = begins + slot_seconds * 0.05, begins + slot_seconds * (0.3 + number % 60 / 100)
        yield PlannedJob(
            id=number + 1,
            state=state,
            training_id=training,
            workspace_id=workspace,
            user_id=people[number // busy % len(people)],
            sweep_id=number // busy // SWEEP_JOBS + 1 if training == busy // 2 + 1 else None,
            node_id=slot % (size.nodes // NODES_PER_GROUP) * NODES_PER_GROUP + node + 1,
            first_unit=first,
            units=WAITING_UNITS if state == "waiting" else count,
            submitted=begins,
            tries=() if state == "waiting" else split_tries(placed, ends, is_twice=number % 20 == 3),
        )


def split_tries(placed: float, ended: float, is_twice: bool) -> tuple[tuple[float, float, float], ...]:
    """The second attempt begins a second after the first has ended."""
    if not is_twice:
        return ((placed, placed + 1.5, ended),)
    middle = (placed + ended) / 2
    return (placed, placed + 1.5, middle), (middle + 1, middle + 2.5, ended)


def sweeps(size: InstallationSize) -> TableRows:
    busy = size.trainings - 1
    training = busy // 2 + 1
    rounds = -(-max(0, size.jobs - training + 1) // busy)
    plan = as_json(
        {"kind": "list", "values": {"epochs": [str(n) for n in range(SWEEP_JOBS)]}, "order": ["epochs"]}
    )
    rows = (
        (
            number,
            workspace_of_training(size, training),
            training,
            owner_of_training(size, training),
            f"sweep-{number}",
            plan,
            min(SWEEP_JOBS, rounds - (number - 1) * SWEEP_JOBS),
            moment(number),
        )
        for number in range(1, -(-rounds // SWEEP_JOBS) + 1)
    )
    return table_rows(Sweep, "id workspace_id training_id user_id name plan jobs submitted_at", rows)


def last_loss(job: PlannedJob) -> float:
    return 0.02 + job.id % 97 / 1000


def results_of(job: PlannedJob) -> str:
    last = last_loss(job)
    return as_json({"loss/train": [last, 2.3, last], "accuracy/validation": [0.1, 1 - last, 1 - last]})


def jobs(size: InstallationSize) -> TableRows:
    columns = (
        "id workspace_id training_id sweep_id sweep_number user_id name state desired fence units launcher command"
        " variables code_version dataset_id position shape time_limit_seconds retries retries_used submitted_at"
        " dispatched_at started_at ended_at waiting_code waiting_data exit_code end_code end_data cpu_seconds"
        " max_memory_bytes average_memory_bytes unit_seconds_used results stopped_by storage_bytes"
        " headline_metric headline_value headline_is_best headline_score"
    )
    reason = QuotaTooSmall(size.quota, WAITING_UNITS, UnitKind.GPU)
    waiting_data = as_json(to_waiting_data(reason))
    command, variables = (
        as_json(["train.py", "--lr", "0.1"]),
        as_json({"epochs": "20", "learning_rate": "0.002"}),
    )

    def rows() -> Iterator[Sequence[Any]]:
        for job in planned_jobs(size):
            own, is_waiting = job.is_own_code, job.state == "waiting"
            dataset = None if own else job.workspace_id
            limit = 3600 * (1 + job.id % 8) if job.id % 3 else None
            exit_code, end_code, end_data = job.end
            used = [(ended - started) * job.units for _, started, ended in job.tries]
            seconds = None if is_waiting else sum(used)
            yield (
                job.id, job.workspace_id, job.training_id, job.sweep_id,
                (job.id - 1) // (size.trainings - 1) % SWEEP_JOBS + 1 if job.sweep_id else None,
                job.user_id, f"run-{job.id}", job.state, "stop" if job.state == "stopped" else "run",
                len(job.tries), job.units, "torchrun" if own else "horovod", command if own else "[]",
                "{}" if own else variables, int(own), dataset, first_position(job.id, 0),
                job_shape(job.units, limit, dataset, job.sweep_id), limit,
                int(len(job.tries) > 1), int(len(job.tries) > 1), moment(job.submitted),
                None if is_waiting else moment(job.tries[0][0]), None if is_waiting else moment(job.tries[0][1]),
                None if is_waiting else moment(job.tries[-1][2]),
                reason.code if is_waiting else None, waiting_data if is_waiting else None,
                exit_code, end_code, None if end_data is None else as_json(end_data),
                None if seconds is None else seconds * 0.9, None if is_waiting else 2**30 + job.id % 2**20 * 1024,
                None if is_waiting else 2**29, seconds and seconds * 0.7,
                results_of(job) if job.state == "finished" else None,
                job.user_id if job.state == "stopped" else None,
                None if is_waiting else 50_000 + job.id % 1000 * 4096,
                *(
                    ("accuracy/validation", 1 - last_loss(job), True, 1 - last_loss(job))
                    if job.state == "finished"
                    else (None,) * 4
                ),
            )  # fmt: skip

    return table_rows(Job, columns, rows())


@dataclass(frozen=True)
class PlannedAttempt:
    id: int
    job: PlannedJob
    number: int
    placed: float
    started: float
    ended: float

    @property
    def end(self) -> tuple[int | None, str | None, dict[str, Any] | None]:
        """All but the last one of a job failed."""
        is_last = self.number == len(self.job.tries)
        return self.job.end if is_last else (1, "exit.error", {"exit_code": 1})


def planned_attempts(size: InstallationSize) -> Iterator[PlannedAttempt]:
    number = 0
    for job in planned_jobs(size):
        for turn, times in enumerate(job.tries, start=1):
            number += 1
            yield PlannedAttempt(number, job, turn, *times)


def attempts(size: InstallationSize) -> TableRows:
    columns = (
        "id job_id number state node_id handle created_at started_at ended_at progress exit_code end_code end_data"
        " cpu_seconds max_memory_bytes average_memory_bytes unit_seconds_used storage_bytes"
    )

    def rows() -> Iterator[Sequence[Any]]:
        for one in planned_attempts(size):
            exit_code, code, data = one.end
            seconds = (one.ended - one.started) * one.job.units
            handle = as_json({"boot_id": f"boot-{one.job.node_id}", "pid": 1000 + one.id, "started": one.id})
            yield (
                one.id, one.job.id, one.number, "ended", one.job.node_id, handle, moment(one.placed),
                moment(one.started), moment(one.ended), 1.0 if exit_code == 0 else 0.5, exit_code, code, as_json(data),
                seconds * 0.9, 2**30 + one.id % 2**20 * 1024, 2**29, seconds * 0.7, 50_000 + one.id % 1000 * 4096,
            )  # fmt: skip

    return table_rows(Attempt, columns, rows())


def allocations(size: InstallationSize) -> TableRows:
    def rows() -> Iterator[Sequence[Any]]:
        number = 0
        for one in planned_attempts(size):
            begun, ended = moment(one.placed), moment(one.ended)
            first = unit_id(one.job.node_id, one.job.first_unit)
            for unit in range(first, first + one.job.units):
                number += 1
                yield number, unit, one.id, begun, ended

    return table_rows(Allocation, "id unit_id attempt_id begun_at ended_at", rows())


def events(size: InstallationSize) -> TableRows:
    """Four lines of history for an ended job with one attempt, one for a waiting job."""

    def rows() -> Iterator[Sequence[Any]]:
        number = 0
        for job in planned_jobs(size):
            for at, state, code, data in lines_of(job):
                number += 1
                yield number, job.id, moment(at), state, code, as_json(data)

    return table_rows(JobEvent, "id job_id at state code data", rows())


def lines_of(job: PlannedJob) -> Iterator[tuple[float, str, str, dict[str, Any]]]:
    yield job.submitted, "waiting", "job.submitted", {}
    node = node_name(job.node_id)
    for number, (placed, started, ended) in enumerate(job.tries, start=1):
        yield (
            placed,
            "starting",
            "job.placed",
            {"node": node, "units": job.units, "kind": "gpu", "attempt": number},
        )
        yield started, "running", "job.started", {"attempt": number, "node": node}
        if number < len(job.tries):
            reason = RetryAfterFailure("exit.error", number, 1, 1)
            yield ended, "waiting", reason.code, to_waiting_data(reason)
    if job.tries:
        _, code, data = job.end
        yield job.tries[-1][2], job.state, str(code), {**(data or {}), "attempt": len(job.tries)}


def queue_totals(size: InstallationSize) -> TableRows:
    """As the scheduler counts them."""
    counted: dict[tuple[int, str], int] = {}
    for job in planned_jobs(size):
        if job.state == "waiting":
            limit = 3600 * (1 + job.id % 8) if job.id % 3 else None
            dataset = None if job.is_own_code else job.workspace_id
            key = job.workspace_id, job_shape(job.units, limit, dataset, job.sweep_id)
            counted[key] = counted.get(key, 0) + 1
    until = moment(HISTORY.total_seconds())
    rows = ((*key, WAITING_UNITS, count, None, until) for key, count in sorted(counted.items()))
    return table_rows(QueueTotal, "workspace_id shape units jobs seconds counted_at", rows)


# Operations and repairs


def operations(size: InstallationSize) -> TableRows:
    """One of 200 has failed; every fifth is a backup."""

    def rows() -> Iterator[Sequence[Any]]:
        for number in range(1, size.operations + 1):
            at = number * HISTORY.total_seconds() / (size.operations + 1)
            is_backup, has_failed = number % 5 == 0, number % 200 == 199
            code = "backup.write" if is_backup else "dataset.sample"
            step = {"code": code, "state": "failed" if has_failed else "done"}
            workspace = None if is_backup else number % (size.workspaces - 1) + 1
            requester = 1 if workspace is None else member_ids(size, workspace)[number % 3]
            yield (
                number, "backup" if is_backup else "dataset.sample", "backups" if is_backup else "general",
                None if is_backup else workspace, workspace, "failed" if has_failed else "finished",
                as_json([step | {"started_at": iso(at), "ended_at": iso(at + 20)}]), 1.0, requester,
                moment(at - 1), moment(at), moment(at + 20), 1, 1,
                "dataset.interrupted" if has_failed else None, "{}" if has_failed else None,
            )  # fmt: skip

    columns = (
        "id kind queue subject_id workspace_id state steps progress requested_by requested_at started_at ended_at"
        " fence claims error_code error_data"
    )
    return table_rows(Operation, columns, rows())


def iso(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat()


def repair_runs(size: InstallationSize) -> TableRows:
    rows = (
        (
            number,
            "back-up-now",
            "master",
            node_name(1),
            as_json([["master", node_name(1)]]),
            "0" * 64,
            "before the update",
            number % size.administrators + 1,
            moment(number * 3600),
            moment(number * 3600 + 2),
            moment(number * 3600 + 60),
            "verified",
            0,
        )
        for number in range(1, size.repair_runs + 1)
    )
    columns = (
        "id name target host targets digest reason requested_by requested_at"
        " started_at ended_at verdict playbook_rc"
    )
    return table_rows(RepairRun, columns, rows)


# The audit with its seals


def action_of(turn: int) -> str:
    """`turn` is below 1,000."""
    return next((action for below, action in AUDIT_ACTIONS if turn < below), "job.held")


def audit_values(size: InstallationSize) -> Iterator[dict[str, Any]]:
    """Entries as the seals cover them: `at` as ISO text, `data` as it is."""
    step = HISTORY.total_seconds() / (size.audit_entries + 1)
    names = {user_id: user_name(size, user_id) for user_id in range(1, size.people + 1)}
    actions = [(action, action.partition(".")[0]) for action in map(action_of, range(1000))]
    for number in range(1, size.audit_entries + 1):
        is_rare = number % RARE_EVERY == RARE_EVERY - 1
        action, kind = ("backup.asked", "backup") if is_rare else actions[number * 31 % 1000]
        who, subject = number * 17 % size.people + 1, number % 1000 + 1
        yield {
            "id": number,
            # Never a whole second: its text would be shorter.
            "at": (
                BEGIN + timedelta(seconds=int(number * step), microseconds=number % 999_999 + 1)
            ).isoformat(),
            "actor_id": who,
            "actor_name": names[who],
            "address": f"192.0.2.{who}",
            "request_id": f"{number:016x}",
            "action": action,
            "object_kind": kind,
            "object_id": subject,
            "outcome": "refused" if action == "session.refused" else "done",
            "data": {"name": f"run-{subject}"} if kind == "job" else {},
        }


def audit(size: InstallationSize) -> Iterator[TableRows]:
    """The rows of the seals come from the digests of the entries: the caller takes the tables in this order."""
    key = derive_seal_key(SEAL_SECRET)
    digester = EntryDigester(key)
    # In the order of `audit_values`.
    columns = "id at actor_id actor_name address request_id action object_kind object_id outcome data"
    lines: list[tuple[int, str]] = []

    def entries() -> Iterator[Sequence[Any]]:
        for values in audit_values(size):
            lines.append((values["id"], digester.digest_of(values)))
            values["at"] = f"{values['at'][:10]} {values['at'][11:26]}"
            values["data"] = as_json(values["data"]) if values["data"] else "{}"
            yield tuple(values.values())

    yield table_rows(AuditEntry, columns, entries())

    def seals() -> Iterator[Sequence[Any]]:
        previous = ""
        for number, first in enumerate(range(0, len(lines), BATCH), start=1):
            some = lines[first : first + BATCH]
            mac = seal_mac(key, previous, some)
            at = moment(HISTORY.total_seconds())
            yield number, at, some[-1][0], len(some), seal_key_id(key), as_json(some), previous, mac
            previous = mac

    yield table_rows(AuditSeal, "id at last_id entries key_id digests previous mac", seals())
    facts = {
        SEALED_COUNT_FACT: {"seal": -(-size.audit_entries // BATCH), "entries": size.audit_entries},
        LAST_WRITTEN_FACT: {"last_id": size.audit_entries},
    }
    pairs = ((name, as_json(value)) for name, value in facts.items())
    yield table_rows(InstallationFact, "name value", pairs)
