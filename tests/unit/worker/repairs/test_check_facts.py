"""The facts of checks: a host is probed for the age of its units, and the database may be away."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cluster.domain.repairs.definition import CheckKind, RepairCheck
from cluster.services.context import Cluster
from worker.repairs import check_facts

SINCE = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PORTAL = "groundcrew-portal.service"
GOOD = {"load": "loaded", "active": "active", "enabled": "enabled", "since": SINCE.timestamp() + 5}


def test_when_a_unit_began_is_counted_back_from_when_its_host_told_its_age(tmp_path: Path) -> None:
    """Whatever hour the host believes in."""
    state = {"units": {PORTAL: GOOD | {"age": 4.0}, "off.service": {"age": None}}, "age": 60.0}
    events = tmp_path / "artifacts" / "run" / "job_events"
    events.mkdir(parents=True)
    told = {
        "event": "runner_on_ok",
        "created": (SINCE + timedelta(seconds=10)).isoformat(),
        "event_data": {"task": check_facts.PROBE_TASK, "host": "gpu01", "res": state},
    }
    (events / f"1-{'0' * 8}-0000-0000-0000-{'0' * 12}.json").write_text(json.dumps(told))
    (tmp_path / "exit.json").write_text(json.dumps({"end": "ran", "rc": 0, "status": "successful"}))
    seen = check_facts.read_probe(tmp_path, ["gpu01"])["gpu01"]
    assert seen is not None
    begun = {name: unit["since"] for name, unit in seen["units"].items()}
    assert begun == {PORTAL: SINCE.timestamp() + 6, "off.service": 0.0}
    assert seen["started"] == SINCE.timestamp() - 50


def test_what_only_the_database_knows_is_said_to_be_unknown(light_cluster: Cluster) -> None:
    Path(light_cluster.store.url.database or "").write_bytes(b"no database" * 100)
    checks = [RepairCheck(CheckKind.AUDIT_WHOLE), RepairCheck(CheckKind.DISK_FREE, {"share": 0.0})]
    answers = check_facts.evaluate_without_database(light_cluster, checks, light_cluster.clock(), None, [])
    assert [(answer.is_ok, answer.code) for answer in answers] == [
        (False, "check.not_read"),
        (True, "check.disk_free.ok"),
    ]
