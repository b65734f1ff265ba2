"""``make up`` after the bootstrap: start the services, print the address, run the first training."""

import os
import socket
from getpass import getuser

from cluster.services.context import Cluster
from cluster.services.people.first_administrator import issue_first_administrator_secret
from cluster.services.ssh.door_state import reason_against_door
from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.terminal import exit_with_error, print_sentence
from worker.composition import open_cluster
from worker.embedded.commands.options import parse_make_options
from worker.embedded.startup import configure_installation, hold_make_lock, start_services, wait_for_portal
from worker.embedded.state_directory import (
    ensure_state_directory,
    find_impassable_folder,
    is_path_too_long_for_sockets,
)
from worker.environments.default_environment import ensure_editor_environment, ensure_training_environment
from worker.first_training.run import run_first_training
from worker.ssh_door.layout import missing_packages


def main(arguments: list[str]) -> int:
    options = parse_make_options(arguments)
    places = find_installation_paths()
    if is_path_too_long_for_sockets(places):
        exit_with_error(
            "{state} is too long a path for a unix socket. Name a shorter one: "
            "GROUNDCREW_STATE_DIR=/srv/gc make up",
            state=places.state_dir,
        )
    closed = find_impassable_folder(places)
    if closed is not None:
        exit_with_error(
            "Only root may pass {folder}, while jobs and nginx run as other users. Open it (chmod o+x {folder}), "
            "or name another place: GROUNDCREW_STATE_DIR=/srv/gc make up",
            folder=closed,
        )
    ensure_state_directory(places)
    with hold_make_lock(places):
        settings = configure_installation(places, options.port, options.host)
        start_services(places, settings)
        wait_for_portal(places, settings)
        cluster = open_cluster(settings)
        ensure_training_environment(cluster)
        ensure_editor_environment(cluster)
    print_address(cluster)
    print_closed_door(cluster)
    return run_first_training(cluster) if options.with_first_training else 0


def print_address(cluster: Cluster) -> None:
    """The address, the line for another machine and, until there is an administrator, the one-time secret."""
    settings = cluster.settings
    print_sentence("Groundcrew is running at {url}", url=settings.public_url)
    if settings.tls_dir is not None:
        authority = settings.tls_dir / "authority.pem"
        print_sentence("  Authority to give to browsers once:  {file}", file=authority)
    else:
        print_sentence(
            "  From another machine:  ssh -L {port}:127.0.0.1:{port} {user}@{host}",
            port=settings.port,
            user=getuser(),
            host=socket.gethostname(),
        )
    secret = issue_first_administrator_secret(cluster)
    if secret is not None:
        print_sentence("  First administrator:   {url}/first-administrator", url=settings.public_url)
        print_sentence(
            "  One-time secret:       {secret}   (good for 24 hours; make up prints a new one)", secret=secret
        )


def print_closed_door(cluster: Cluster) -> None:
    """Prints how root opens the SSH door if only packages are missing. `make up` itself installs no sshd."""
    missing = missing_packages()
    if missing and os.geteuid() == 0 and reason_against_door(cluster.settings) is None:
        print_sentence(
            "  SSH into jobs:         closed; it opens after: apt-get install {packages}",
            packages=" ".join(missing),
        )
