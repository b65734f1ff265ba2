"""``make up``, once the environment is there: start what is not running, say where, fly the first flight."""

import socket
from getpass import getuser

from cluster.services.context import Cluster
from cluster.services.users import issue_first_administrator_secret
from worker.embedded.first_flight import fly
from worker.embedded.options import parse_options
from worker.embedded.places import find_places
from worker.embedded.say import say, stop
from worker.embedded.start import configure, only_one, start, wait_for_the_portal
from worker.embedded.state import closed_folder, ensure_state, is_too_long_for_sockets
from worker.embedded.training_environment import ensure_training_environment
from worker.wiring import open_cluster


def main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    places = find_places()
    if is_too_long_for_sockets(places):
        stop(
            "{state} is too long a path for a unix socket. Name a shorter one: "
            "GROUNDCREW_STATE_DIR=/srv/gc make up",
            state=places.state,
        )
    closed = closed_folder(places)
    if closed is not None:
        stop(
            "Only root may pass {folder}, while jobs and nginx run as other users. Open it (chmod o+x {folder}), "
            "or name another place: GROUNDCREW_STATE_DIR=/srv/gc make up",
            folder=closed,
        )
    ensure_state(places)
    with only_one(places):
        settings = configure(places, options.port, options.host)
        start(places, settings)
        wait_for_the_portal(places, settings)
        cluster = open_cluster(settings)
        ensure_training_environment(cluster)
    print_address(cluster)
    return fly(cluster) if options.flies else 0


def print_address(cluster: Cluster) -> None:
    """The address, the line for another machine and, until there is an administrator, the one-time secret."""
    settings = cluster.settings
    say("Groundcrew is running at {url}", url=settings.public_url)
    if settings.tls_dir is not None:
        authority = settings.tls_dir / "authority.pem"
        say("  Authority to give to browsers once:  {file}", file=authority)
    else:
        say(
            "  From another machine:  ssh -L {port}:127.0.0.1:{port} {user}@{host}",
            port=settings.port,
            user=getuser(),
            host=socket.gethostname(),
        )
    secret = issue_first_administrator_secret(cluster)
    if secret is not None:
        say("  First administrator:   {url}/first-administrator", url=settings.public_url)
        say(
            "  One-time secret:       {secret}   (good for 24 hours; make up prints a new one)", secret=secret
        )
