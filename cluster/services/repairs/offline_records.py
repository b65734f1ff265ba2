"""Records repair runs as files while the database is away, and imports them as rows once it answers."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.failpoints import external_call
from cluster.files.atomic import write_atomically
from cluster.services.context import Cluster
from cluster.services.people.users import service_actor
from cluster.store.audit import add_audit_entry
from cluster.store.repairs import RepairRun

log = structlog.get_logger()
CONSOLE_ADDRESS = "console"
"""The value for the address in audit entries."""
PLAIN_FIELDS = (
    *("offline_record", "name", "target", "host", "digest", "reason", "console_user"),
    *("is_forced", "tasks", "before", "checks", "playbook_rc"),
)
TIME_FIELDS = ("requested_at", "started_at", "ended_at")


def offline_records_folder(cluster: Cluster) -> Path:
    return cluster.settings.state_dir / "repairs" / "records"


def offline_record_file(cluster: Cluster, run: RepairRun) -> Path:
    return offline_records_folder(cluster) / f"{run.offline_record}.json"


def write_offline_record(cluster: Cluster, run: RepairRun) -> Path:
    """Replaces the file atomically."""
    path = offline_record_file(cluster, run)
    with external_call("repair_record.write"):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, json.dumps(offline_record_data(run), ensure_ascii=False))
    return path


def offline_record_data(run: RepairRun) -> dict[str, Any]:
    moments = {name: at.isoformat() if (at := getattr(run, name)) else None for name in TIME_FIELDS}
    verdict = run.verdict.value if run.verdict else None
    return {name: getattr(run, name) for name in PLAIN_FIELDS} | moments | {"verdict": verdict}


def parse_offline_record(text: str) -> RepairRun:
    """Raises ValueError, KeyError, TypeError."""
    data = json.loads(text)
    moments = {name: datetime.fromisoformat(data[name]) if data[name] else None for name in TIME_FIELDS}
    verdict = RepairVerdict(data["verdict"]) if data["verdict"] else None
    return RepairRun(**{name: data[name] for name in PLAIN_FIELDS}, **moments, verdict=verdict)


def list_offline_records(cluster: Cluster) -> list[RepairRun]:
    """The records, the oldest first. A file that cannot be read is logged and kept."""
    found = []
    for path in offline_records_folder(cluster).glob("*.json"):
        try:
            found.append(parse_offline_record(path.read_text()))
        except FileNotFoundError:
            continue  # Another process has imported it in between.
        except (ValueError, KeyError, TypeError) as error:
            log.warning("a record of the console cannot be read", file=str(path), error=str(error))
    return sorted(found, key=lambda run: run.requested_at)


def import_offline_records(cluster: Cluster) -> list[int]:
    """Imports ended runs as rows and returns their ids. Records of runs that have not ended
    stay. It can be repeated.
    """
    ended = [run for run in list_offline_records(cluster) if run.ended_at is not None]
    made = [run_id for run in ended if (run_id := import_offline_record(cluster, run)) is not None]
    for run_id in made:
        cluster.events.publish("operations", run_id)
    return made


def import_offline_record(cluster: Cluster, run: RepairRun) -> int | None:
    """Imports one record and deletes its file; returns None if an earlier import died before it deleted the file."""
    path, run_id = offline_record_file(cluster, run), None
    service = service_actor(cluster)
    actor = Actor(service.user_id, run.console_user or service.name, True, CONSOLE_ADDRESS)
    with cluster.store.write(lock="repair records") as session:
        if session.scalar(select(RepairRun.id).where(RepairRun.offline_record == run.offline_record)) is None:
            run.requested_by = service.user_id
            session.add(run)
            session.flush()
            run_id = run.id
            add_run_audit_entries(session, cluster.clock(), actor, run)
    with external_call("repair_record.delete"):
        path.unlink(missing_ok=True)
    return run_id


def add_run_audit_entries(session: Session, now: datetime, actor: Actor, run: RepairRun) -> None:
    """Writes the entries with the current time, because no entry may be added before sealed ones. Their data contain
    the time of the run.
    """
    assert run.ended_at is not None and run.verdict is not None
    asked = {
        "name": run.name,
        "host": run.host,
        "reason": run.reason,
        "asked_at": run.requested_at.isoformat(),
    }
    ended = {"name": run.name, "host": run.host, "ended_at": run.ended_at.isoformat()}
    add_audit_entry(session, now, actor, "repair.asked", run.id, **asked)
    outcome = "done" if run.verdict is RepairVerdict.VERIFIED else "failed"
    add_audit_entry(session, now, actor, "repair.ended", run.id, outcome, **ended, verdict=run.verdict.value)
