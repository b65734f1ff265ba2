"""The commands that the playbooks of repairs call: ``python -m worker upkeep SETTINGS COMMAND``.

Each command answers with one line of JSON in which `changed` says whether it did anything, or with a sentence on
stderr and exit code 1. `SETTINGS` is the settings file of the embedded installation, or - if the settings are in the
environment, as for groundcrew-upkeep on servers. Ansible gets no secret in either case.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from cluster import words
from cluster.domain.errors import GroundcrewError, Unavailable
from cluster.services.audit.seals import check_audit, read_newest_seal, seal_entries
from cluster.services.context import Cluster
from cluster.services.repairs.reclaimable_files import delete_reclaimable_of_run, list_reclaimable_paths
from cluster.services.repairs.stuck_operations import release_stuck_operations
from cluster.settings import Settings
from worker.backups import dump
from worker.backups.audit_anchors import anchors_here
from worker.backups.drill import drill_newest_backup
from worker.backups.smoke_test import run_smoke_test
from worker.bootstrap.paths import InstallationPaths
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file
from worker.embedded.supervisor_client import SupervisorClient
from worker.environments.gpu_check import check_own_gpus

CommandResult = dict[str, Any]
SETTINGS_FROM_ENVIRONMENT = Path("-")


def verify_audit(cluster: Cluster, chosen: argparse.Namespace) -> CommandResult:
    """Raises Unavailable with the first violation."""
    seal_entries(cluster)
    standing = check_audit(cluster, anchors_here(cluster.settings))
    if standing.violation is not None:
        raise Unavailable(standing.violation.code, **standing.violation.data)
    return {
        "changed": False,
        "entries": standing.entries,
        "checked": standing.checked,
        "seals": standing.seals,
    }


def check_backup_room(cluster: Cluster, chosen: argparse.Namespace) -> CommandResult:
    """Raises Unavailable if copy and text of a backup would not fit on the disk."""
    free, needed = dump.check_backup_space(cluster.settings)
    return {"changed": False, "free": free, "needed": needed}


def make_backup_now(cluster: Cluster, chosen: argparse.Namespace) -> CommandResult:
    """Makes a backup. Its manifest contains the newest seal of the audit, which is then also outside the database."""
    seal_entries(cluster)
    return {"changed": True, **dump.make_backup(cluster.settings, cluster.clock(), read_newest_seal(cluster))}


def drill_backup(cluster: Cluster, chosen: argparse.Namespace) -> CommandResult:
    """Raises Unavailable if the newest backup is broken, which its manifest also records."""
    manifest = drill_newest_backup(cluster.settings, cluster.clock(), run_smoke_test)
    if manifest["problem"]:
        raise Unavailable("backup.broken", name=manifest["name"], problem=manifest["problem"])
    return {"changed": True, **manifest}


def multiply_on_gpus(cluster: Cluster, chosen: argparse.Namespace) -> CommandResult:
    """Raises Unavailable if a free GPU of this machine does not compute what the CPU does."""
    return {"changed": False, **check_own_gpus(cluster)}


def restart_services(cluster: Cluster, chosen: argparse.Namespace) -> CommandResult:
    """Restarts the services of the embedded set one after the other."""
    supervisor = SupervisorClient(installation_paths(cluster))
    for name in chosen.names:
        supervisor.restart_service(name)
    return {"changed": True, "names": chosen.names}


def installation_paths(cluster: Cluster) -> InstallationPaths:
    settings = cluster.settings
    return InstallationPaths(
        clone=Path(__file__).resolve().parents[2], state_dir=settings.state_dir, cache_dir=settings.cache_dir
    )


def release_operations(cluster: Cluster, chosen: argparse.Namespace) -> CommandResult:
    released = release_stuck_operations(cluster, chosen.names[0])
    return {"changed": bool(released), "operations": released}


def list_reclaimable(cluster: Cluster, chosen: argparse.Namespace) -> CommandResult:
    found = list_reclaimable_paths(cluster)
    return {"changed": False, "files": [[str(each.path), each.size] for each in found]}


def delete_reclaimable(cluster: Cluster, chosen: argparse.Namespace) -> CommandResult:
    gone = delete_reclaimable_of_run(cluster, int(chosen.names[0]))
    return {"changed": bool(gone), "files": len(gone), "bytes": sum(each.size for each in gone)}


COMMANDS = {
    "check-room": check_backup_room,
    "verify-audit": verify_audit,
    "backup": make_backup_now,
    "prove-backup": drill_backup,
    "multiply-on-gpus": multiply_on_gpus,
    "restart-services": restart_services,
    "release-operations": release_operations,
    "list-leftovers": list_reclaimable,
    "delete-leftovers": delete_reclaimable,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m worker upkeep")
    parser.add_argument("settings", type=Path)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args(arguments)
    told = os.environ if chosen.settings == SETTINGS_FROM_ENVIRONMENT else read_settings_file(chosen.settings)
    cluster = open_cluster(Settings.from_environment(told))
    try:
        sys.stdout.write(json.dumps(COMMANDS[chosen.command](cluster, chosen)) + "\n")
    except GroundcrewError as error:
        sys.stderr.write(words.sentence(error.code, error.data) + "\n")
        return 1
    finally:
        cluster.store.close()
    return 0
