"""The mark by which what an installation has made is known in a cluster that others may share with it."""

import hashlib
import os
import secrets
from pathlib import Path

from sqlalchemy.exc import IntegrityError

from cluster.services.context import Cluster
from cluster.services.kubernetes.status import KUBERNETES_STATUS_FACT
from cluster.store.leases import InstallationFact

INSTALLATION_ID_FACT = "installation"
DIGITS = 8


def ensure_installation_id(cluster: Cluster) -> str:
    """Eight hexadecimal digits, made once and kept with the database: whoever restores that has its mark too.

    Of a database that Kubernetes was looked at for before it had one, it is the mark that its objects bear.
    """
    if known := read_installation_id(cluster):
        return known
    try:
        with cluster.store.write() as session:
            was_there_before = session.get(InstallationFact, KUBERNETES_STATUS_FACT) is not None
            mark = (
                legacy_installation_id(cluster.settings.storage_dir)
                if was_there_before
                else new_installation_id()
            )
            if session.get(InstallationFact, INSTALLATION_ID_FACT) is None:
                session.add(InstallationFact(name=INSTALLATION_ID_FACT, value={"mark": mark}))
    except IntegrityError:
        pass  # Another scheduler, which waits for the lease, was faster.
    return read_installation_id(cluster)


def read_installation_id(cluster: Cluster) -> str:
    """Empty where it has none yet."""
    with cluster.store.read() as session:
        fact = session.get(InstallationFact, INSTALLATION_ID_FACT)
    return str(fact.value["mark"]) if fact else ""


def new_installation_id() -> str:
    return secrets.token_hex(DIGITS // 2)


def legacy_installation_id(storage: Path) -> str:
    """Of where the storage lies: the same for all who leave that as it is by default."""
    return hashlib.sha256(os.fsencode(storage)).hexdigest()[:DIGITS]
