"""API tokens: `gc_<id>_<secret>`, shown once, with scopes and an expiry, and revoked with their user."""

import re
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, bindparam, select, update
from sqlalchemy.orm import Session

from cluster.domain.errors import NotFound, Refused
from cluster.domain.names import check_token_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_person
from cluster.domain.refusals import Refusals
from cluster.domain.states import UserRole, UserState
from cluster.services.context import Cluster
from cluster.services.people.credentials import is_same_digest, new_secret, secret_digest
from cluster.store.audit import add_audit_entry
from cluster.store.sql.disk_full import ignoring_disk_full
from cluster.store.users import ApiToken, User, load_user

SCOPES = ("read", "write", "repair")
"""Each scope includes those before it."""
DEFAULT_DAYS, MOST_DAYS = 90, 365
MAX_TOKENS = 50
TOUCH_EVERY = timedelta(minutes=1)
API_TOKEN_FORMAT = re.compile(r"gc_([1-9]\d{0,8})_([\w-]{43})", re.ASCII)

TOKENS, USERS = ApiToken.__table__.c, User.__table__.c
TOKEN_QUERY = (
    select(
        *(TOKENS.id.label("token_id"), TOKENS.secret_hash, TOKENS.scopes, TOKENS.used_at),
        *(USERS.id.label("user_id"), USERS.name, USERS.role, USERS.state),
    )
    .join_from(ApiToken.__table__, User.__table__, USERS.id == TOKENS.user_id)
    .where(TOKENS.id == bindparam("token"), TOKENS.revoked_at.is_(None), TOKENS.expires_at > bindparam("now"))
)
"""The statement is made once and reads columns only, because every request with a token needs it and rows take twice
as long.
"""


def create_api_token(
    cluster: Cluster,
    actor: Actor,
    name: str,
    scopes: list[str],
    days: int | None = DEFAULT_DAYS,
    refusals: Refusals | None = None,
) -> tuple[ApiToken, str]:
    """Returns the row and the text of the token, which is shown only this once.

    Raises Refused for every field that is wrong; `refusals` are those of the form, whose `days` are None.
    """
    require_person(actor)
    refusals = refusals or Refusals()
    refusals.check(check_token_name, name)
    if not scopes or not set(scopes) <= set(SCOPES):
        refusals.add(Refused("scopes", "token.scopes_unknown", known=list(SCOPES)))
    refusals.require("days", days)
    if days is not None and not 1 <= days <= MOST_DAYS:
        refusals.add(Refused("days", "token.days_out_of_range", least=1, most=MOST_DAYS))
    refusals.raise_all()
    assert days is not None
    now, secret = cluster.clock(), new_secret()
    with cluster.store.write(lock="tokens") as session:
        load_user(session, actor.user_id)
        present = session.scalars(
            select(ApiToken).where(ApiToken.user_id == actor.user_id, is_live_now(cluster))
        )
        names = [token.name for token in present]
        if name in names:
            raise Refused("name", "token.name_taken", name=name)
        if len(names) >= MAX_TOKENS:
            raise Refused("name", "token.too_many", most=MAX_TOKENS)
        token = ApiToken(
            user_id=actor.user_id,
            name=name,
            secret_hash=secret_digest(secret),
            scopes=list(SCOPES[: max(map(SCOPES.index, scopes)) + 1]),
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        session.add(token)
        session.flush()
        add_audit_entry(
            session, now, actor, "token.created", token.id, name=name, scopes=token.scopes, days=days
        )
    return token, f"gc_{token.id}_{secret}"


def is_live_now(cluster: Cluster) -> ColumnElement[bool]:
    return is_live_token(cluster.clock())


def is_live_token(now: datetime) -> ColumnElement[bool]:
    return ApiToken.revoked_at.is_(None) & (ApiToken.expires_at > now)


def revoke_all_api_tokens(session: Session, actor: Actor, user_id: int, now: datetime, cause: str) -> int:
    """Revokes the tokens of one user, with an audit entry each, in the caller's transaction. Returns their number.

    `cause` is the audit action that ends them.
    """
    tokens = session.scalars(select(ApiToken).where(ApiToken.user_id == user_id, is_live_token(now))).all()
    for token in tokens:
        token.revoked_at = now
        add_audit_entry(session, now, actor, "token.revoked", token.id, name=token.name, cause=cause)
    return len(tokens)


def authenticate_api_token(cluster: Cluster, text: str, address: str, request_id: str = "") -> Actor | None:
    """Returns the actor of the token with its scopes, and None for a wrong, revoked or expired token."""
    parsed = API_TOKEN_FORMAT.fullmatch(text)
    if parsed is None:
        return None
    now = cluster.clock()
    with cluster.store.read_columns() as connection:
        row = connection.execute(TOKEN_QUERY, {"token": int(parsed[1]), "now": now}).first()
    if row is None or not is_same_digest(row.secret_hash, secret_digest(parsed[2])):
        return None
    if row.state is not UserState.ACTIVE:
        return None
    if row.used_at is None or now - row.used_at >= TOUCH_EVERY:
        with ignoring_disk_full(cluster.store), cluster.store.write() as session:
            session.execute(update(ApiToken).where(ApiToken.id == row.token_id).values(used_at=now))
    scopes = frozenset(str(scope) for scope in row.scopes)
    is_administrator = row.role is UserRole.ADMINISTRATOR
    return Actor(row.user_id, row.name, is_administrator, address, request_id, scopes, row.token_id)


def token_refusal_code(cluster: Cluster, text: str) -> str:
    """Why `authenticate_api_token` refuses this text: whether the token is revoked or expired if the secret is right,
    else `session.needed`.
    """
    parsed = API_TOKEN_FORMAT.fullmatch(text)
    if parsed is None:
        return "session.needed"
    with cluster.store.read() as session:
        token = session.get(ApiToken, int(parsed[1])) if int(parsed[1]) < 2**31 else None
    if token is None or not is_same_digest(token.secret_hash, secret_digest(parsed[2])):
        return "session.needed"
    return "token.revoked" if token.revoked_at is not None else "token.expired"


def list_api_tokens(cluster: Cluster, actor: Actor) -> list[ApiToken]:
    """The actor's own valid tokens, the newest first."""
    query = (
        select(ApiToken)
        .where(ApiToken.user_id == actor.user_id, is_live_now(cluster))
        .order_by(ApiToken.id.desc())
    )
    with cluster.store.read() as session:
        return list(session.scalars(query))


def revoke_api_token(cluster: Cluster, actor: Actor, token_id: int) -> None:
    """Revokes one of the actor's own tokens at once, perhaps the one that is used. Raises NotFound."""
    now = cluster.clock()
    with cluster.store.write() as session:
        token = session.get(ApiToken, token_id) if 0 < token_id < 2**31 else None
        if token is None or token.user_id != actor.user_id:
            raise NotFound("token", token_id)
        if token.revoked_at is None:
            token.revoked_at = now
            add_audit_entry(session, now, actor, "token.revoked", token.id, name=token.name)
