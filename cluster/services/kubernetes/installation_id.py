"""The id that marks this installation's objects in a Kubernetes cluster that several installations may share."""

import hashlib
import os
import secrets
from pathlib import Path

from sqlalchemy.exc import IntegrityError

from cluster.services.context import Cluster
from cluster.services.kubernetes.status import KUBERNETES_STATUS_FACT
from cluster.store.facts import InstallationFact

INSTALLATION_ID_FACT = "installation_id"
DIGITS = 8


def ensure_installation_id(cluster: Cluster) -> str:
    """Returns eight hexadecimal digits that are created once and stored in the database; a restored database keeps
    its id.

    An older version has labelled its objects with another id. If the cluster has such objects, their id is stored.
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
        pass  # Another scheduler, which waits for the lease, has stored an id at the same time.
    return read_installation_id(cluster)


def read_installation_id(cluster: Cluster) -> str:
    """Returns an empty string if there is no id yet."""
    with cluster.store.read() as session:
        fact = session.get(InstallationFact, INSTALLATION_ID_FACT)
    return str(fact.value["mark"]) if fact else ""


def new_installation_id() -> str:
    return secrets.token_hex(DIGITS // 2)


def legacy_installation_id(storage: Path) -> str:
    """The id of versions before this one: a digest of the storage path, equal for all installations with the default
    path."""
    return hashlib.sha256(os.fsencode(storage)).hexdigest()[:DIGITS]
