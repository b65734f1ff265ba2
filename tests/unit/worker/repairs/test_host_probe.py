"""A host is probed for the age of its units."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cluster.domain.repairs.check_results import CheckFacts
from worker.repairs import host_probe

SINCE = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


GOOD = {"load": "loaded", "active": "active", "enabled": "enabled", "since": SINCE.timestamp() + 5}


PORTAL = "groundcrew-portal.service"


def seen(doors: dict[str, Any] | None = None, **changed: Any) -> CheckFacts:
    return CheckFacts(hosts={"gpu01": {"units": {PORTAL: GOOD | changed}, "doors": doors or {}}})


def test_when_a_unit_began_is_counted_back_from_when_its_host_told_its_age(tmp_path: Path) -> None:
    """Whatever hour the host believes in."""
    state = {"units": {PORTAL: GOOD | {"age": 4.0}, "off.service": {"age": None}}, "age": 60.0}
    events = tmp_path / "artifacts" / "run" / "job_events"
    events.mkdir(parents=True)
    told = {
        "event": "runner_on_ok",
        "created": (SINCE + timedelta(seconds=10)).isoformat(),
        "event_data": {"task": host_probe.PROBE_TASK, "host": "gpu01", "res": state},
    }
    (events / f"1-{'0' * 8}-0000-0000-0000-{'0' * 12}.json").write_text(json.dumps(told))
    (tmp_path / "exit.json").write_text(json.dumps({"end": "ran", "rc": 0, "status": "successful"}))
    seen = host_probe.read_probe(tmp_path, ["gpu01"])["gpu01"]
    assert seen is not None
    begun = {name: unit["since"] for name, unit in seen["units"].items()}
    assert begun == {PORTAL: SINCE.timestamp() + 6, "off.service": 0.0}
    assert seen["started"] == SINCE.timestamp() - 50
