"""``make support``: write a support bundle without secrets, datasets or code."""

import io
import json
import platform
import sys
import tarfile
import time
import xmlrpc.client
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from cluster.domain.errors import GroundcrewError
from cluster.redaction import list_secrets, redact_settings, redact_text
from cluster.services.alerts.metrics import read_metrics
from cluster.services.context import Cluster
from cluster.services.people.users import service_actor
from cluster.services.repairs.repair_runs import list_repair_runs
from cluster.settings import VERSION, Settings
from cluster.store.tables import metadata
from worker.bootstrap.paths import InstallationPaths, find_installation_paths
from worker.bootstrap.terminal import exit_with_error, print_sentence
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file
from worker.embedded.supervisor_client import SupervisorClient

TAIL_BYTES = 256 * 1024
MAX_LOGS = 40


def main(arguments: list[str]) -> int:
    places = find_installation_paths()
    settings = read_settings_file(places.settings_file)
    if not settings:
        exit_with_error("Nothing is installed for {clone}. Begin with: make up", clone=places.clone)
    path = write_support_bundle(places, settings, datetime.now(UTC))
    print_sentence("The bundle is {path}", path=path)
    print_sentence(
        "It holds versions, settings without secrets, the last logs, states, counts and runs of repairs."
    )
    print_sentence("Look into it before you send it: tar -tzf {path}", path=path)
    return 0


def write_support_bundle(places: InstallationPaths, settings: dict[str, str], now: datetime) -> Path:
    """Writes a file that only its owner may read. A part that cannot be read is replaced by the reason."""
    name = f"groundcrew-support-{now:%Y%m%d-%H%M%S}"
    folder = places.state_dir / "support"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{name}.tar.gz"
    secrets = list_secrets(settings)
    path.touch(mode=0o600)
    with tarfile.open(path, "w:gz") as bundle:
        for inside, text in list_bundle_files(places, settings):
            content = redact_text(text, secrets).encode()
            entry = tarfile.TarInfo(f"{name}/{inside}")
            entry.size, entry.mtime, entry.mode = len(content), int(now.timestamp()), 0o600
            bundle.addfile(entry, io.BytesIO(content))
    return path


def list_bundle_files(places: InstallationPaths, settings: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Name and text of each file."""
    yield "versions.json", to_json(read_versions())
    yield "settings.json", to_json(redact_settings(settings))
    yield (
        "services.json",
        read_or_explain(lambda: to_json([asdict(each) for each in SupervisorClient(places).list_services()])),
    )
    for name, read in (
        ("states", read_metric_values),
        ("counts", count_table_rows),
        ("repairs", read_repair_runs),
    ):
        yield f"{name}.json", read_or_explain(partial(query_cluster, settings, read))
    for path in list_newest_logs(places.log_dir):
        yield f"log/{path.name}", read_or_explain(partial(read_last_log_lines, path))


def to_json(value: Any) -> str:
    return json.dumps(value, indent=1, default=str, ensure_ascii=False) + "\n"


def read_or_explain(read: Callable[[], str]) -> str:
    """Reads the part, or returns why it cannot be read: the bundle is needed most when something is down."""
    try:
        return read()
    except (
        SQLAlchemyError,
        GroundcrewError,
        OSError,
        ValueError,
        xmlrpc.client.Error,
    ) as error:
        return to_json({"not_read": f"{type(error).__name__}: {error}"})


def query_cluster(settings: dict[str, str], read: Callable[[Cluster], Any]) -> str:
    cluster = open_cluster(Settings.from_environment(settings))
    with closing(cluster.store):
        return to_json(read(cluster))


def read_versions() -> dict[str, Any]:
    return {
        "groundcrew": VERSION,
        "python": sys.version,
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", ""),
        "kernel": platform.release(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "packages": dict(sorted((each.name, each.version) for each in distributions())),
    }


def read_metric_values(cluster: Cluster) -> dict[str, Any]:
    return asdict(read_metrics(cluster))


def count_table_rows(cluster: Cluster) -> dict[str, int]:
    """The number of rows by table."""
    with cluster.store.read() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }


def read_repair_runs(cluster: Cluster) -> list[dict[str, Any]]:
    """The newest runs with their checks before and after, without the person and the reason."""
    shown = ("id", "name", "target", "requested_at", "started_at", "ended_at", "verdict", "playbook_rc")
    lists = ("before", "checks", "tasks")
    runs = list_repair_runs(cluster, service_actor(cluster))
    return [{name: getattr(run, name) for name in (*shown, *lists)} for run in runs]


def list_newest_logs(folder: Path) -> list[Path]:
    """Lists the newest logs of services and operations. The access log is left out because it is about people."""
    files = [path for path in folder.glob("*.log") if path.is_file() and not path.is_symlink()]
    return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)[:MAX_LOGS]


def read_last_log_lines(path: Path) -> str:
    """Reads whole lines, because a secret that is cut in two would not be recognised."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines(keepends=True)
    return "".join(lines if size <= TAIL_BYTES else lines[1:])
