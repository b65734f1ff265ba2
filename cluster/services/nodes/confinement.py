"""Records which confinement features the scheduler's own node supports; pages read them."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete
from sqlalchemy.orm import Session

from cluster.services.context import Cluster
from cluster.services.leases import HeldLease, check_lease
from cluster.store.facts import InstallationFact, read_fact

CONFINEMENT_FACT = "confinement"


def load_confinement_features(session: Session) -> dict[str, Mapping[str, Any]]:
    """Returns node name → its features. A node is missing if jobs are not its own processes, or if it has not
    reported them yet.
    """
    return read_fact(session, CONFINEMENT_FACT, parse_confinement_features) or {}


def parse_confinement_features(value: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {node: each for node, each in value.items() if isinstance(each, dict)}


def record_confinement_features(
    cluster: Cluster, held: HeldLease, node: str, powers: Mapping[str, Any] | None
) -> bool:
    """Records `powers`, which are None if jobs are no processes of this machine. Returns whether they changed. Raises
    LeaseLost.
    """
    value = {} if powers is None else {node: dict(powers)}
    with cluster.store.read() as session:
        fact = session.get(InstallationFact, CONFINEMENT_FACT)
    if (fact.value if fact else {}) == value:
        return False
    with cluster.store.write() as session:
        check_lease(session, held)
        if powers is None:
            session.execute(delete(InstallationFact).where(InstallationFact.name == CONFINEMENT_FACT))
        else:
            session.merge(InstallationFact(name=CONFINEMENT_FACT, value=value))
    cluster.events.publish("nodes", 0)
    return True
