"""What repairs ask of the application: ``python -m worker upkeep SETTINGS COMMAND``.

Each command answers with one line of JSON in which `changed` says whether it did anything, or with a sentence on
stderr and exit code 1. `SETTINGS` is the file of the embedded set, or - where they are in the environment, as
groundcrew-upkeep has them on servers: nothing secret travels through Ansible.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from cluster import words
from cluster.domain.errors import GroundcrewError, Unavailable
from cluster.services.audit_seals import check_audit, read_anchor, seal_entries
from cluster.services.context import Cluster
from cluster.services.repair_progress import release_stuck
from cluster.services.spare_files import delete_leftovers, list_leftovers
from cluster.settings import Settings
from worker.audit_anchors import anchors_of
from worker.backups import dump
from worker.backups.open_page import open_pages
from worker.backups.restore import prove_newest
from worker.embedded.places import Places
from worker.embedded.services import Supervisor
from worker.embedded.settings_file import read_settings
from worker.wiring import open_cluster

Answer = dict[str, Any]
FROM_ENVIRONMENT = Path("-")


def verify_audit(cluster: Cluster, chosen: argparse.Namespace) -> Answer:
    """Raises Unavailable with the first place that is wrong."""
    seal_entries(cluster)
    standing = check_audit(cluster, anchors_of(cluster.settings))
    if standing.found is not None:
        raise Unavailable(standing.found.code, **standing.found.data)
    return {
        "changed": False,
        "entries": standing.entries,
        "checked": standing.checked,
        "seals": standing.seals,
    }


def check_room(cluster: Cluster, chosen: argparse.Namespace) -> Answer:
    """Raises Unavailable where the copy and the text of a backup would not fit on the disk."""
    free, needed = dump.check_room(cluster.settings)
    return {"changed": False, "free": free, "needed": needed}


def backup(cluster: Cluster, chosen: argparse.Namespace) -> Answer:
    """The newest seal of the audit is written into the manifest: it lies outside of the database then."""
    seal_entries(cluster)
    return {"changed": True, **dump.make_backup(cluster.settings, cluster.clock(), read_anchor(cluster))}


def prove_backup(cluster: Cluster, chosen: argparse.Namespace) -> Answer:
    """Raises Unavailable where the newest backup is broken: the manifest says so as well."""
    manifest = prove_newest(cluster.settings, cluster.clock(), open_pages)
    if manifest["problem"]:
        raise Unavailable("backup.broken", name=manifest["name"], problem=manifest["problem"])
    return {"changed": True, **manifest}


def restart_services(cluster: Cluster, chosen: argparse.Namespace) -> Answer:
    """Of the embedded set, one after the other, so that the one that this run hangs on is the last."""
    supervisor = Supervisor(places_of(cluster))
    for name in chosen.names:
        supervisor.restart(name)
    return {"changed": True, "names": chosen.names}


def places_of(cluster: Cluster) -> Places:
    settings = cluster.settings
    return Places(
        clone=Path(__file__).resolve().parents[1], state=settings.state_dir, cache=settings.cache_dir
    )


def release_operations(cluster: Cluster, chosen: argparse.Namespace) -> Answer:
    released = release_stuck(cluster, chosen.names[0])
    return {"changed": bool(released), "operations": released}


def show_leftovers(cluster: Cluster, chosen: argparse.Namespace) -> Answer:
    found = list_leftovers(cluster)
    return {"changed": False, "files": [[str(each.path), each.size] for each in found]}


def remove_leftovers(cluster: Cluster, chosen: argparse.Namespace) -> Answer:
    gone = delete_leftovers(cluster, int(chosen.names[0]))
    return {"changed": bool(gone), "files": len(gone), "bytes": sum(each.size for each in gone)}


COMMANDS = {
    "check-room": check_room,
    "verify-audit": verify_audit,
    "backup": backup,
    "prove-backup": prove_backup,
    "restart-services": restart_services,
    "release-operations": release_operations,
    "list-leftovers": show_leftovers,
    "delete-leftovers": remove_leftovers,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m worker upkeep")
    parser.add_argument("settings", type=Path)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args(arguments)
    told = os.environ if chosen.settings == FROM_ENVIRONMENT else read_settings(chosen.settings)
    cluster = open_cluster(Settings.from_environment(told))
    try:
        sys.stdout.write(json.dumps(COMMANDS[chosen.command](cluster, chosen)) + "\n")
    except GroundcrewError as error:
        sys.stderr.write(words.say(error.code, error.data) + "\n")
        return 1
    finally:
        cluster.store.close()
    return 0
