"""The nodes that need a person, and the order of the list of nodes."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, case, or_, select

from cluster.domain.alerts import DISK_FULL_SHARE
from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.kubernetes.suggested_repairs import CERTIFICATES_SOON_DAYS
from cluster.domain.states import NodeState
from cluster.store.nodes import IS_BROKEN, Node, Unit
from cluster.store.sql.node_state import is_kept_out, is_silent, node_state_column

NODES_WITH_BROKEN_UNITS = select(Unit.node_id).where(IS_BROKEN)
LIST_ORDER = (NodeState.LOST, NodeState.UNREACHABLE, NodeState.DRAINING, NodeState.NO_EXECUTOR)
"""The states that come first in the list. Ready nodes with broken units or kept out by Kubernetes follow, then the
other ready nodes.
"""


def is_troubled(now: datetime) -> ColumnElement[bool]:
    """The condition for a node that is silent or lost, or has a broken unit, a full disk, or a certificate that ends
    soon.
    """
    return or_(
        Node.lost_at.is_not(None),
        is_silent(now),
        Node.disk_used_share > DISK_FULL_SHARE,
        Node.certificate_ends_at < now + timedelta(days=CERTIFICATES_SOON_DAYS),
        Node.id.in_(NODES_WITH_BROKEN_UNITS),
    )


def list_rank(standing: KubernetesStatus | None, now: datetime) -> ColumnElement[int]:
    """The place of a node's state in the list, from 0."""
    state = node_state_column(now)
    return case(
        *((state == each, place) for place, each in enumerate(LIST_ORDER)),
        (or_(Node.id.in_(NODES_WITH_BROKEN_UNITS), is_kept_out(standing, now)), len(LIST_ORDER)),
        else_=len(LIST_ORDER) + 1,
    )
