"""gunicorn's configuration of bare Flask: the portal's own numbers, without what belongs to the product."""

import sys

from cluster.gc_freeze import freeze_startup_objects
from portal import gunicorn as portal

worker_class = portal.worker_class
workers = portal.workers
threads = portal.threads
timeout = portal.timeout
graceful_timeout = portal.graceful_timeout
keepalive = portal.keepalive
accesslog = portal.accesslog
control_socket_disable = portal.control_socket_disable
umask = 0


def post_worker_init(worker: object) -> None:
    sys.setswitchinterval(portal.SWITCH_SECONDS)
    freeze_startup_objects()
