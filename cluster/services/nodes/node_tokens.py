"""Tokens of nodes: the installer creates them, they are shown once, and an agent authenticates with nothing else."""

import re

from sqlalchemy import select, update

from cluster.services.context import Cluster
from cluster.services.people.credentials import is_same_digest, new_secret, secret_digest
from cluster.services.people.users import service_actor
from cluster.store.audit import add_audit_entry
from cluster.store.nodes import NodeToken

NODE_TOKEN_FORMAT = re.compile(r"gcn_([1-9]\d{0,8})_([\w-]{43})", re.ASCII)


def create_node_token(cluster: Cluster, name: str, has_executor: bool) -> str:
    """Creates a token and returns its text, which is shown this once. It replaces the node's earlier token."""
    now, secret, actor = cluster.clock(), new_secret(), service_actor(cluster)
    with cluster.store.write(lock="node tokens") as session:
        earlier = (NodeToken.name == name) & NodeToken.revoked_at.is_(None)
        session.execute(update(NodeToken).where(earlier).values(revoked_at=now))
        token = NodeToken(
            name=name, has_executor=has_executor, secret_hash=secret_digest(secret), created_at=now
        )
        session.add(token)
        session.flush()
        add_audit_entry(session, now, actor, "node.token_created", token.id, name=name)
    return f"gcn_{token.id}_{secret}"


def read_node_token(cluster: Cluster, text: str) -> NodeToken | None:
    """Returns the node whose token this is; None for a wrong or revoked token."""
    parsed = NODE_TOKEN_FORMAT.fullmatch(text)
    if parsed is None:
        return None
    query = select(NodeToken).where(NodeToken.id == int(parsed[1]), NodeToken.revoked_at.is_(None))
    with cluster.store.read() as session:
        token = session.scalar(query)
    return (
        token if token is not None and is_same_digest(token.secret_hash, secret_digest(parsed[2])) else None
    )


def is_node_token_valid(cluster: Cluster, text: str, name: str, has_executor: bool) -> bool:
    """Whether this text is still the node's valid token with exactly that right."""
    token = read_node_token(cluster, text)
    return token is not None and (token.name, token.has_executor) == (name, has_executor)


def revoke_node_token(cluster: Cluster, name: str) -> bool:
    """Revokes the node's token at once. Returns whether there was one."""
    now, actor = cluster.clock(), service_actor(cluster)
    with cluster.store.write(lock="node tokens") as session:
        living = (NodeToken.name == name) & NodeToken.revoked_at.is_(None)
        token = session.scalar(select(NodeToken).where(living))
        if token is None:
            return False
        token.revoked_at = now
        add_audit_entry(session, now, actor, "node.token_revoked", token.id, name=name)
    return True
