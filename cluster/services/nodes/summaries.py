"""Reads nodes with their units counted by state and holder: a page of the list, those that need a person, or all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.orm import Session

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.kubernetes.status import load_kubernetes_status
from cluster.services.nodes.list_order import is_troubled, list_rank
from cluster.services.nodes.queries import NODES, NodeColumns, NodeSummary, judge_nodes
from cluster.services.nodes.totals import NodeFilter, is_shown
from cluster.services.nodes.unit_groups import read_all_unit_groups, read_job_colours, read_unit_groups
from cluster.store.nodes import Node


def list_node_summaries(cluster: Cluster) -> list[NodeSummary]:
    """Lists all nodes by name."""
    with cluster.store.read() as session:
        nodes = [NodeColumns(*row) for row in session.execute(NODES.order_by(Node.name))]
        groups = read_all_unit_groups(session)
        judged = judge_nodes(session, nodes, cluster.clock())
        return [NodeSummary(*about, groups[about[0].id]) for about in judged]


def list_troubled_nodes(cluster: Cluster) -> list[NodeSummary]:
    """Lists the nodes that have alerts, by name. It does not read the other nodes."""
    condition = is_troubled(cluster.clock())
    with cluster.store.read() as session:
        nodes = [NodeColumns(*row) for row in session.execute(NODES.where(condition).order_by(Node.name))]
        return build_summaries(session, nodes, cluster.clock(), select(Node.id).where(condition))


@dataclass(frozen=True)
class NodePage:
    """`next_after` is the node after which the next page begins; None on the last page."""

    nodes: list[NodeSummary]
    next_after: int | None
    colours: Mapping[int, int]
    """The colour of each job's workspace, by job, for the jobs that the reader may see."""


def list_node_page(
    cluster: Cluster, actor: Actor, node_filter: NodeFilter, after: int | None, length: int
) -> NodePage:
    """Lists nodes that need a person first, then the others by name; `after` is the last node of the page before."""
    now = cluster.clock()
    with cluster.store.read() as session:
        standing = load_kubernetes_status(session)
        rank = list_rank(standing, now)
        query = NODES.where(is_shown(node_filter, now)).order_by(rank, Node.name).limit(length + 1)
        if after is not None:
            position = session.execute(select(rank, Node.name).where(Node.id == after)).one_or_none()
            if position is not None:
                query = query.where(
                    or_(rank > position[0], and_(rank == position[0], Node.name > position[1]))
                )
        nodes = [NodeColumns(*row) for row in session.execute(query)]
        shown = nodes[:length]
        ids = [node.id for node in shown]
        summaries = build_summaries(session, shown, now, ids)
        holding = {job_id for node in summaries for job_id in node.job_ids}
        next_after = ids[-1] if len(nodes) > length else None
        return NodePage(summaries, next_after, read_job_colours(session, actor, holding))


def build_summaries(
    session: Session,
    nodes: Sequence[NodeColumns],
    now: datetime,
    node_ids: Sequence[int] | Select[int],
) -> list[NodeSummary]:
    """Builds the summaries of the nodes with these ids."""
    if not nodes:
        return []
    groups = read_unit_groups(session, node_ids)
    return [NodeSummary(*judged, groups[judged[0].id]) for judged in judge_nodes(session, nodes, now)]
