"""The web portal: pages and REST in Flask, and the `groundcrew` command, which speaks REST."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from cluster.services.context import Cluster


def create_app(cluster: "Cluster", testing: bool = False) -> "Flask":
    """Makes the portal of one installation. `testing` switches CSRF off, for tests that post without a page."""
    # Imported when called: the command `groundcrew` is a part of this package too, and its wheel has no Flask.
    from portal.app import build_app

    return build_app(cluster, testing)
