"""The mark by which what an installation has made is known in a cluster that others may share with it."""

import hashlib
import os
import secrets
from pathlib import Path

from sqlalchemy.exc import IntegrityError

from cluster.services.context import Cluster
from cluster.services.kubernetes import STANDING
from cluster.store.leases import Fact

INSTALLATION = "installation"
DIGITS = 8


def ensure_installation(cluster: Cluster) -> str:
    """Eight hexadecimal digits, made once and kept with the database: whoever restores that has its mark too.

    Of a database that Kubernetes was looked at for before it had one, it is the mark that its objects bear.
    """
    if known := read_installation(cluster):
        return known
    try:
        with cluster.store.write() as session:
            was_there_before = session.get(Fact, STANDING) is not None
            mark = former_mark(cluster.settings.storage_dir) if was_there_before else new_mark()
            if session.get(Fact, INSTALLATION) is None:
                session.add(Fact(name=INSTALLATION, value={"mark": mark}))
    except IntegrityError:
        pass  # Another scheduler, which waits for the lease, was faster.
    return read_installation(cluster)


def read_installation(cluster: Cluster) -> str:
    """Empty where it has none yet."""
    with cluster.store.read() as session:
        fact = session.get(Fact, INSTALLATION)
    return str(fact.value["mark"]) if fact else ""


def new_mark() -> str:
    return secrets.token_hex(DIGITS // 2)


def former_mark(storage: Path) -> str:
    """Of where the storage lies: the same for all who leave that as it is by default."""
    return hashlib.sha256(os.fsencode(storage)).hexdigest()[:DIGITS]
