"""The invariants I1 to I6, checked from outside: plain SQL and files, nothing of the services.

Each function returns sentences about what is wrong; no sentence, no violation.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime

from tests.crash.invariants.row_snapshot import Record, Seen

LIVING = {"waiting", "starting", "running", "stopping"}
HOLDING = LIVING - {"waiting"}


def violations(seen: Seen) -> list[str]:
    """Everything that is wrong now, in the middle of a story as much as at its end."""
    checks = (acknowledged, sweeps_whole, units_once, quotas, gangs, attempts_once, programs_once, ends, events,
              outputs, holdings, leftovers, audited, rings)  # fmt: skip
    return [f"{check.__name__}: {sentence}" for check in checks for sentence in check(seen)]


def acknowledged(seen: Seen) -> Iterator[str]:
    """I1: what a client was told is there, once for each key."""
    ids = {job["id"] for job in seen.of("jobs")}
    by_key: dict[str, set[int]] = defaultdict(set)
    for told in seen.told:
        if told["event"] == "acknowledged":
            by_key[told["key"]].add(told["job"])
            if told["job"] not in ids:
                yield f"job {told['job']} was acknowledged and is not there"
    for key, jobs in by_key.items():
        if len(jobs) > 1:
            yield f"the key {key} was answered with the jobs {sorted(jobs)}"
    for name, count in Counter(job["name"] for job in seen.of("jobs")).items():
        if count > 1 and name in by_key:
            yield f"{count} jobs were made of the one request {name}"
    stops = {
        told["job"] for told in seen.told if told["event"] == "stop acknowledged" and not told["refused"]
    }
    for job in seen.of("jobs"):
        if job["id"] in stops and job["desired"] != "stop":
            yield f"the stop of job {job['id']} was acknowledged and is forgotten"


def sweeps_whole(seen: Seen) -> Iterator[str]:
    """I1: a sweep is there with all its jobs and its one audit entry, or not at all; its limit holds."""
    made = Counter(job["sweep_id"] for job in seen.of("jobs"))
    entries = Counter(e["object_id"] for e in seen.of("audit_entries") if e["action"] == "sweep.submitted")
    told = {line["sweep"] for line in seen.told if line["event"] == "sweep acknowledged"}
    there = {sweep["id"] for sweep in seen.of("sweeps")}
    if told - there or len(there) > len(told) + 1:
        yield f"the sweeps {sorted(told)} were acknowledged, {sorted(there)} are there"
    for sweep in seen.of("sweeps"):
        if made[sweep["id"]] != sweep["jobs"] or entries[sweep["id"]] != 1:
            yield f"sweep {sweep['id']} has {made[sweep['id']]} jobs and {entries[sweep['id']]} audit entries"
        if sweep["most_at_once"] and most_at_once(seen, sweep["id"]) > sweep["most_at_once"]:
            yield f"more than {sweep['most_at_once']} jobs of sweep {sweep['id']} had units at a time"


def most_at_once(seen: Seen, sweep: int) -> int:
    own = {job["id"] for job in seen.of("jobs") if job["sweep_id"] == sweep}
    tries = [each for each in seen.of("attempts") if each["job_id"] in own]
    moments = [(each["created_at"], 1) for each in tries]
    ends = {held["attempt_id"]: held["ended_at"] for held in seen.of("allocations")}
    moments += [(ends[each["id"]], -1) for each in tries if ends[each["id"]] is not None]
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def units_once(seen: Seen) -> Iterator[str]:
    """I2: by the rows no unit was ever held twice at a time."""
    by_unit: dict[int, list[Record]] = defaultdict(list)
    for held in seen.of("allocations"):
        by_unit[held["unit_id"]].append(held)
    for unit, held in by_unit.items():
        for before, after in zip(held, held[1:], strict=False):
            if before["ended_at"] is None or before["ended_at"] > after["begun_at"]:
                yield f"unit {unit} is held by the attempts {before['attempt_id']} and {after['attempt_id']}"


def quotas(seen: Seen) -> Iterator[str]:
    """I2: at no moment a workspace used more than its units."""
    limits = {each["id"]: each["units"] for each in seen.of("workspaces")}
    workspace_of_job = {job["id"]: job["workspace_id"] for job in seen.of("jobs")}
    workspace_of = {each["id"]: workspace_of_job[each["job_id"]] for each in seen.of("attempts")}
    changes: list[tuple[datetime, int, int]] = []
    for held in seen.of("allocations"):
        workspace = workspace_of[held["attempt_id"]]
        changes.append((held["begun_at"], 1, workspace))
        if held["ended_at"] is not None:
            changes.append((held["ended_at"], -1, workspace))
    used: Counter[int] = Counter()
    for at, change, workspace in sorted(changes):
        used[workspace] += change
        if used[workspace] > limits[workspace]:
            yield f"workspace {workspace} used {used[workspace]} of {limits[workspace]} units at {at}"


def gangs(seen: Seen) -> Iterator[str]:
    """All or nothing: an attempt got exactly what its job asked for."""
    given = Counter(held["attempt_id"] for held in seen.of("allocations"))
    units = {job["id"]: job["units"] for job in seen.of("jobs")}
    for attempt in seen.of("attempts"):
        if given[attempt["id"]] != units[attempt["job_id"]]:
            yield f"attempt {attempt['id']} got {given[attempt['id']]} of {units[attempt['job_id']]} units"


def attempts_once(seen: Seen) -> Iterator[str]:
    """I3: one after another, numbered without a gap, and the job's fence is the last one's number."""
    by_job: dict[int, list[Record]] = defaultdict(list)
    for attempt in sorted(seen.of("attempts"), key=lambda each: each["id"]):
        by_job[attempt["job_id"]].append(attempt)
    for job in seen.of("jobs"):
        tries = by_job[job["id"]]
        if [each["number"] for each in tries] != list(range(1, job["fence"] + 1)):
            yield f"job {job['id']} has the fence {job['fence']} and attempts {[t['number'] for t in tries]}"
        if any(each["ended_at"] is None for each in tries[:-1]):
            yield f"an attempt of job {job['id']} lives although a later one exists"
        lives = bool(tries) and tries[-1]["ended_at"] is None
        if lives != (job["state"] in HOLDING):
            yield f"job {job['id']} is {job['state']} and its last attempt {'lives' if lives else 'does not live'}"
        for each in tries:
            if (each["ended_at"] is None) != (each["state"] != "ended"):
                yield f"attempt {each['id']} is {each['state']} and ended at {each['ended_at']}"


def programs_once(seen: Seen) -> Iterator[str]:
    """I3 and I2 as the witness saw it: no attempt began twice, no job ran twice at a time, no unit either."""
    attempts = {(each["job_id"], each["number"]): each["id"] for each in seen.of("attempts")}
    units_of: dict[int, set[int]] = defaultdict(set)
    for held in seen.of("allocations"):
        units_of[held["attempt_id"]].add(held["unit_id"])
    begun: Counter[tuple[int, int]] = Counter()
    running: dict[tuple[int, int], set[int]] = {}
    for told in seen.told:
        if told["event"] not in ("begins", "ends"):
            continue
        key = (told["job"], told["attempt"])
        if told["event"] == "ends":
            running.pop(key, None)
            continue
        begun[key] += 1
        if begun[key] > 1:
            yield f"attempt {key[1]} of job {key[0]} began {begun[key]} times"
        if key not in attempts:
            yield f"a program of job {key[0]} began as attempt {key[1]}, which no row knows"
            continue
        units = units_of[attempts[key]]
        for other, theirs in running.items():
            if other[0] == key[0]:
                yield f"job {key[0]} ran as attempt {other[1]} and {key[1]} at the same time"
            if units & theirs:
                yield f"the program of job {key[0]} began on units on which job {other[0]} still ran"
        running[key] = units


def ends(seen: Seen) -> Iterator[str]:
    """I4: a final state has a cause and a moment, a living one has neither."""
    for job in seen.of("jobs"):
        has_end = job["ended_at"] is not None and job["end_code"] is not None
        if has_end != (job["state"] not in LIVING):
            yield f"job {job['id']} is {job['state']}, ended at {job['ended_at']} with {job['end_code']}"
        if (
            job["state"] in ("finished", "failed")
            and job["desired"] == "run"
            and job["end_code"] == "exit.stopped"
        ):
            yield f"job {job['id']} was stopped and nobody had asked"
        if job["state"] == "finished" and job["exit_code"] != 0:
            yield f"job {job['id']} finished with the exit code {job['exit_code']}"
    for attempt in seen.of("attempts"):
        if attempt["ended_at"] is not None and attempt["end_code"] is None:
            yield f"attempt {attempt['id']} ended without a cause"


FINAL = {"finished", "failed", "stopped"}
FOLLOWS = {
    "waiting": {"waiting", "starting", "stopped", "failed"},
    "starting": {"running", "stopping", "waiting"} | FINAL,
    "running": {"running", "stopping", "waiting"} | FINAL,
    "stopping": {"stopping"} | FINAL,
}


def events(seen: Seen) -> Iterator[str]:
    """The history of a job is a way that a job can go, ends once, and ends where the job stands."""
    by_job: dict[int, list[Record]] = defaultdict(list)
    for event in sorted(seen.of("job_events"), key=lambda each: each["id"]):
        by_job[event["job_id"]].append(event)
    for job in seen.of("jobs"):
        # From which checkpoint it goes on is said of a job that is starting already.
        states = [event["state"] for event in by_job[job["id"]] if event["code"] != "job.resumed"]
        for before, after in zip(states, states[1:], strict=False):
            if after not in FOLLOWS.get(before, set()):
                yield f"the history of job {job['id']} goes from {before} to {after}"
        if not states or states[-1] != job["state"]:
            yield f"job {job['id']} is {job['state']} and its history says {states[-1:]}"
        placed = sum(event["code"] == "job.placed" for event in by_job[job["id"]])
        if placed != job["fence"]:
            yield f"job {job['id']} has {job['fence']} attempts and was placed {placed} times"


def outputs(seen: Seen) -> Iterator[str]:
    """I4: the log is what the program wrote, byte for byte."""
    names = {job["id"]: job["name"] for job in seen.of("jobs")}
    workspaces = {job["id"]: job["workspace_id"] for job in seen.of("jobs")}
    for told in seen.told:
        if told["event"] != "begins" or told["job"] not in names:
            continue
        folder = seen.storage / "workspaces" / str(workspaces[told["job"]]) / "jobs"
        log = folder / str(told["job"]) / str(told["attempt"]) / "out" / "rank-0.stdout"
        wrote = f"{names[told['job']]} says\n".encode()
        if not log.exists() or log.read_bytes() != wrote:
            yield f"the log of job {told['job']}, attempt {told['attempt']} is not what it wrote"


def holdings(seen: Seen) -> Iterator[str]:
    """I5: only a living attempt holds units."""
    living = {each["id"] for each in seen.of("attempts") if each["ended_at"] is None}
    for held in seen.of("allocations"):
        if (held["ended_at"] is None) != (held["attempt_id"] in living):
            yield f"attempt {held['attempt_id']} and what it holds do not end together"


def leftovers(seen: Seen) -> Iterator[str]:
    """I5: no staging folder or half file stays behind where nothing is under way."""
    under_way = {each["subject_id"] for each in seen.of("operations") if each["ended_at"] is None}
    for path in seen.storage.glob("workspaces/*/*/*"):
        if path.name.startswith(".") and not (path.name.split(".")[1].isdigit() and under_way):
            yield f"{path.relative_to(seen.storage)} was left behind"


def audited(seen: Seen) -> Iterator[str]:
    """I6: whatever a person did has its one entry, in order; nothing was taken out."""
    entries = sorted(seen.of("audit_entries"), key=lambda each: each["id"])
    for before, after in zip(entries, entries[1:], strict=False):
        if before["at"] > after["at"]:
            yield f"audit entry {after['id']} is older than the one before it"
    counted = Counter((entry["action"], entry["object_id"]) for entry in entries)
    for job in seen.of("jobs"):
        of_sweep = job["sweep_id"] is not None
        action = "notebook.started" if job.get("kind") == "notebook" else "job.submitted"
        if counted[action, job["id"]] != (0 if of_sweep else 1):
            yield f"job {job['id']} has {counted[action, job['id']]} audit entries of its submission"
        if not of_sweep and counted["job.stop_requested", job["id"]] != (job["desired"] == "stop"):
            yield f"the wish to {job['desired']} job {job['id']} and its audit entries do not agree"
    for workspace in seen.of("workspaces"):
        if workspace["ended_at"] and counted["workspace.ended", workspace["id"]] != 1:
            yield f"workspace {workspace['id']} ended without its one audit entry"


def rings(seen: Seen) -> Iterator[str]:
    """The bell rings for what everybody can see: after the commit."""
    ids = {job["id"] for job in seen.of("jobs")}
    for told in seen.told:
        if told["event"] not in ("rings", "enqueues"):
            continue
        if told["too_early"]:
            yield f"the bell rang for {told.get('topic', 'operation')} {told['row']} before the commit"
        elif told.get("topic") == "jobs" and told["row"] not in {*ids, 0}:
            yield f"the bell rang for job {told['row']}, which does not exist"


def unsettled(seen: Seen, programs: set[tuple[int, int]]) -> list[str]:
    """What has not come right yet (I7, I5): `programs` are the (job, attempt) that really run now."""
    found = []
    living = {
        (each["job_id"], each["number"]): each["state"]
        for each in seen.of("attempts")
        if each["ended_at"] is None
    }
    for key in programs - living.keys():
        found.append(f"job {key[0]} runs as attempt {key[1]}, which has ended by the rows")
    for key, state in living.items():
        if state != "running" or key not in programs:
            found.append(f"attempt {key[1]} of job {key[0]} is {state}; it runs: {key in programs}")
    jobs = [job for job in seen.of("jobs") if job["state"] in LIVING]
    found += [f"job {job['id']} is being stopped" for job in jobs if job["state"] == "stopping"]
    ended = {each["id"] for each in seen.of("workspaces") if each["ended_at"]}
    latest = max((node["heartbeat_at"] for node in seen.of("nodes") if node["heartbeat_at"]), default=None)
    could = [job["id"] for job in jobs if job["state"] == "waiting" and may_start(job, ended, latest)]
    if could and not living:
        found.append(f"the jobs {could} wait although nothing runs")
    return found


def may_start(job: Record, ended: set[int], latest: datetime | None) -> bool:
    """`latest`: a moment that has certainly passed; until then a pause may last."""
    if job["waiting_code"] == "waiting.tried_later" and latest is not None:
        data = job["waiting_data"]
        until = datetime.fromisoformat((json.loads(data) if isinstance(data, str) else data)["until"])
        if until > latest:
            return False
    return job["workspace_id"] not in ended and job["held_at"] is None and job["desired"] == "run"
