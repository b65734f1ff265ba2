"""The commands that the installer and administrators run on the master: ``python -m worker appliance
version|drain|…``.

Each command can be repeated and prints one line of JSON, in which `changed` says whether it did anything. Only
`first-training` prints its progress for a person.
"""

import argparse
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from cluster import words
from cluster.domain.errors import Conflict, GroundcrewError
from cluster.domain.states import EnvironmentState
from cluster.services.images.default_images import record_images
from cluster.services.images.environments import read_default_environment
from cluster.services.nodes.forgotten_nodes import forget_node_by_name
from cluster.services.nodes.node_tokens import create_node_token, is_node_token_valid, revoke_node_token
from cluster.services.people.first_administrator import (
    issue_first_administrator_secret,
    needs_first_administrator,
)
from cluster.services.people.users import service_actor
from cluster.settings import Settings
from cluster.store.migrate import upgrade_database
from worker.adapters.job_runtime import install_runtime, runtime_folder
from worker.adapters.portal_certificates import ensure_authority, ensure_certificate, read_certificate_names
from worker.commands.node_reboots import drain_for_reboot, undrain_after_reboot
from worker.composition import open_cluster
from worker.environments.default_environment import ensure_editor_environment, ensure_training_environment
from worker.first_training.run import run_first_training
from worker.images.site_images import SITE_SETTINGS, list_archives, read_image_site

CommandResult = dict[str, Any]


def ensure_migrated(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """Migrates the database to this code. A newer or foreign database is not changed, and the error names it."""
    done = upgrade_database(settings)
    return {"changed": done.has_changed, "before": done.before, "after": done.after}


def ensure_runtime(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """Installs the job runtime in a folder that jobs may read."""
    known = runtime_folder(settings.runtime_dir, settings.job_ids).exists()
    return {"changed": not known, "path": str(install_runtime(settings.runtime_dir, settings.job_ids))}


def ensure_version(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """Migrates the database and installs the job runtime, in one start of the program instead of two."""
    database, runtime = ensure_migrated(settings, chosen), ensure_runtime(settings, chosen)
    return {"changed": database["changed"] or runtime["changed"], "database": database, "runtime": runtime}


def ensure_environment_row(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """Records the training environment that is in the cache, or requests its build."""
    cluster = open_cluster(settings)
    before = read_default_environment(cluster)
    ensure_training_environment(cluster)
    ensure_editor_environment(cluster)
    after = read_default_environment(cluster)
    is_known = before is not None and after is not None and before.digest == after.digest
    return {
        "changed": not is_known or before is None or before.state is not EnvironmentState.READY,
        "state": after.state.value if after else "",
    }


def record_default_images(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """Records the site's default images by the JSON files beside their archives."""
    cluster, site = open_cluster(settings), read_image_site(Path(chosen.settings))
    images = [image for _, image in list_archives(site)]
    return {"changed": record_images(cluster, images, site.registry.address)}


def issue_administrator_secret(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """The first administrator's one-time secret. With --known none is made, because an earlier one may be in use."""
    cluster = open_cluster(settings)
    if not needs_first_administrator(cluster):
        return {"changed": False, "needed": False, "secret": None}
    if chosen.known:
        return {"changed": False, "needed": True, "secret": None}
    return {"changed": True, "needed": True, "secret": issue_first_administrator_secret(cluster)}


def ensure_certificates(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    folder = Path(chosen.folder)
    names = chosen.names or read_certificate_names(folder)
    made = ensure_authority(folder, f"Groundcrew on {names[0]}")
    return {"changed": ensure_certificate(folder, names) or made}


def ensure_node_token(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """A node's token. The node's own token comes on stdin and is kept if it is still valid."""
    cluster = open_cluster(settings)
    # An executor that is not local starts jobs on every node. A local one starts them on the master only.
    has_executor = chosen.executor or not settings.executor.capabilities.is_local
    if is_node_token_valid(cluster, sys.stdin.read().strip(), chosen.name, has_executor):
        return {"changed": False, "token": None}
    return {"changed": True, "token": create_node_token(cluster, chosen.name, has_executor)}


def forget_host(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """Forgets the node and its token.

    With --stopped its agent has just been stopped, so that its last heartbeat does not count; if jobs still hold
    units there, its token alone is revoked, and the node is given up like any silent one.
    """
    cluster = open_cluster(settings)
    try:
        is_known = forget_node_by_name(cluster, service_actor(cluster), chosen.name, chosen.stopped)
    except Conflict:
        if not chosen.stopped:
            raise
        is_known = False
    return {"changed": revoke_node_token(cluster, chosen.name) or is_known}


def drain_host(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """Drains the node, and answers when no job runs there any more."""
    at_most = timedelta(seconds=chosen.at_most)
    return {"changed": drain_for_reboot(open_cluster(settings), chosen.name, at_most)}


def undrain_host(settings: Settings, chosen: argparse.Namespace) -> CommandResult:
    """Undrains the node, unless a person has drained it."""
    return {"changed": undrain_after_reboot(open_cluster(settings), chosen.name)}


COMMANDS = {
    "version": ensure_version,
    "environment": ensure_environment_row,
    "images": record_default_images,
    "first-administrator": issue_administrator_secret,
    "certificates": ensure_certificates,
    "node-token": ensure_node_token,
    "forget-node": forget_host,
    "drain": drain_host,
    "undrain": undrain_host,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m worker appliance", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in COMMANDS:
        each = verbs.add_parser(verb)
        if verb == "first-administrator":
            each.add_argument("--known", action="store_true", help="a secret was issued before")
        if verb in {"node-token", "forget-node", "drain", "undrain"}:
            each.add_argument("name")
        if verb == "node-token":
            each.add_argument("--executor", action="store_true", help="jobs can be started there")
        if verb == "forget-node":
            each.add_argument("--stopped", action="store_true", help="its agent has just been stopped")
        if verb == "drain":
            each.add_argument("--at-most", type=int, default=3600, help="seconds to wait for running jobs")
        if verb == "images":
            each.add_argument("--settings", default=str(SITE_SETTINGS), help="default: %(default)s")
        if verb == "certificates":
            each.add_argument("--folder", required=True)
            each.add_argument("names", nargs="*", help="names and addresses, the public one first; as before")
    verbs.add_parser("first-training", help="train LeNet on this host, to see that all of it works")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.verb == "first-training":
            return run_first_training(open_cluster(Settings.from_environment()))
        answer = COMMANDS[chosen.verb](Settings.from_environment(), chosen)
    except GroundcrewError as error:
        sys.stderr.write(
            f"{words.sentence(error.code, error.data, 'en')} {words.hint(error.code, error.data, 'en')}\n"
        )
        return 1
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0
