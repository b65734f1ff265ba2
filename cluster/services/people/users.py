"""Users: administrators create, disable and change them; a user is never deleted."""

from collections.abc import Callable

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from cluster.domain.errors import NotFound, Refused
from cluster.domain.names import check_mail_address, check_text, check_user_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator, require_person
from cluster.domain.refusals import Refusals
from cluster.domain.states import UserRole, UserState
from cluster.services.context import Cluster
from cluster.services.people import credentials
from cluster.services.people.api_tokens import revoke_all_api_tokens
from cluster.services.people.passwords import (
    LINK_TERM,
    USERS_LOCK,
)
from cluster.store.audit import add_audit_entry
from cluster.store.users import (
    PASSWORD_LINK,
    User,
    add_one_time_secret,
    count_other_administrators,
    end_sign_in_sessions,
    find_user,
    load_user,
    revoke_one_time_secrets,
)

SERVICE_NAME = "groundcrew"


def add_user_row(session: Session, user: User) -> None:
    """Adds the row under the lock. Raises Refused if the name is taken."""
    require_free_user_name(session, user.name)
    session.add(user)
    session.flush()


def service_actor(cluster: Cluster) -> Actor:
    """The installation itself as the actor of audit entries. Its user is created once and cannot sign in."""
    with cluster.store.read() as session:
        user = find_user(session, SERVICE_NAME)
    if user is None:
        with cluster.store.write(lock=USERS_LOCK) as session:
            user = find_user(session, SERVICE_NAME)
            if user is None:
                user = User(name=SERVICE_NAME, state=UserState.SERVICE, created_at=cluster.clock())
                add_user_row(session, user)
    return Actor(user.id, user.name, is_administrator=True)


def create_user(
    cluster: Cluster,
    actor: Actor,
    name: str,
    full_name: str = "",
    role: UserRole | str = UserRole.USER,
    email: str = "",
    refusals: Refusals | None = None,
    complete: Callable[[Session, User], None] = lambda session, user: None,
    secret: str = "",
) -> tuple[User, str]:
    """Returns the user, and the secret of a link (72 h) with which they choose their password.

    Raises Refused for every field that is wrong; `refusals` are those of the form. `complete` is called within the
    transaction. `secret` is the link's secret; if it is empty, a new one is made.
    """
    require_person(actor)
    require_administrator(actor)
    refusals = refusals or Refusals()
    user = check_new_user(cluster, refusals, name, full_name, role, email)
    with cluster.store.write(lock=USERS_LOCK) as session:
        refusals.check(require_free_user_name, session, name)
        refusals.raise_all()
        secret = add_user_with_link(session, actor, user, secret)
        complete(session, user)
    cluster.events.publish("users", user.id)
    return user, secret


def check_new_user(
    cluster: Cluster, refusals: Refusals, name: str, full_name: str, role: UserRole | str, email: str
) -> User:
    """The row to be added, if nothing was refused."""
    refusals.check(check_user_name, name)
    return User(
        name=name,
        full_name=refusals.check(check_text, full_name, "full_name", 100) or "",
        role=refusals.check(parse_role, role) or UserRole.USER,
        email=(refusals.check(check_mail_address, email.strip()) if email.strip() else None) or None,
        created_at=cluster.clock(),
    )


def require_free_user_name(session: Session, name: str) -> None:
    """Raises Refused. The caller holds the lock, so that nobody takes the name in between."""
    if find_user(session, name) is not None:
        raise Refused("name", "user.name_taken", name=name)


def add_user_with_link(session: Session, actor: Actor, user: User, secret: str = "") -> str:
    """Adds the row and its audit entry. Returns the secret of a link with which the person sets a password."""
    secret = secret or credentials.new_secret()
    add_user_row(session, user)
    add_one_time_secret(
        session, PASSWORD_LINK, user.id, credentials.secret_digest(secret), user.created_at, LINK_TERM
    )
    add_audit_entry(
        session, user.created_at, actor, "user.created", user.id, name=user.name, role=user.role.value
    )
    return secret


def parse_role(role: UserRole | str) -> UserRole:
    if role not in list(UserRole):
        raise Refused("role", "user.role_unknown", roles=[known.value for known in UserRole])
    return UserRole(role)


def disable_user(cluster: Cluster, actor: Actor, user_id: int) -> User:
    """Disables the user; sessions, tokens and links end at once. Raises Refused for the last active administrator."""
    require_person(actor)
    require_administrator(actor)
    now = cluster.clock()
    with cluster.store.write(lock=USERS_LOCK) as session:
        user = load_user(session, user_id)
        require_other_administrator(session, user)
        if user.state is UserState.ACTIVE:
            user.state = UserState.DISABLED
            end_sign_in_sessions(session, user.id, now)
            revoke_one_time_secrets(session, PASSWORD_LINK, user.id, now)
            add_audit_entry(session, now, actor, "user.disabled", user.id, name=user.name)
            revoke_all_api_tokens(session, actor, user.id, now, "user.disabled")
    cluster.events.publish("users", user_id)
    return user


def require_other_administrator(session: Session, user: User) -> None:
    if (
        user.is_administrator
        and user.state is UserState.ACTIVE
        and not count_other_administrators(session, user)
    ):
        raise Refused("user", "user.last_administrator", name=user.name)


def enable_user(cluster: Cluster, actor: Actor, user_id: int) -> User:
    """Enables the user. The password is unchanged; sessions and tokens stay ended."""
    require_person(actor)
    require_administrator(actor)
    with cluster.store.write(lock=USERS_LOCK) as session:
        user = load_user(session, user_id)
        if user.state is UserState.DISABLED:
            user.state = UserState.ACTIVE
            add_audit_entry(session, cluster.clock(), actor, "user.enabled", user.id, name=user.name)
    cluster.events.publish("users", user_id)
    return user


def change_role(cluster: Cluster, actor: Actor, user_id: int, role: UserRole | str) -> User:
    """Ends the user's sessions and API tokens. Raises Refused for the last active administrator."""
    require_person(actor)
    require_administrator(actor)
    now, role = cluster.clock(), parse_role(role)
    with cluster.store.write(lock=USERS_LOCK) as session:
        user = load_user(session, user_id)
        if user.role is not role:
            require_other_administrator(session, user)
            add_audit_entry(
                session, now, actor, "user.role_changed", user.id,
                name=user.name, before=user.role.value, after=role.value,
            )  # fmt: skip
            user.role = role
            end_sign_in_sessions(session, user.id, now)
            revoke_all_api_tokens(session, actor, user.id, now, "user.role_changed")
    cluster.events.publish("users", user_id)
    return user


def list_users(cluster: Cluster, actor: Actor) -> list[User]:
    """Lists all people by name, including disabled ones. Only administrators may call it."""
    require_administrator(actor)
    people = select(User).where(User.state != UserState.SERVICE).order_by(User.name)
    with cluster.store.read() as session:
        return list(session.scalars(people))


def list_users_in_part(
    cluster: Cluster, actor: Actor, text: str, state: UserState | None, after: int | None, limit: int
) -> list[User]:
    """Lists by name people with the text in their account's or full name; those after the user `after` (keyset)."""
    require_administrator(actor)
    people = select(User).where(User.state != UserState.SERVICE).order_by(User.name).limit(limit)
    if text:
        people = people.where(
            or_(User.name.icontains(text, autoescape=True), User.full_name.icontains(text, autoescape=True))
        )
    if state is not None:
        people = people.where(User.state == state)
    if after is not None:
        people = people.where(User.name > select(User.name).where(User.id == after).scalar_subquery())
    with cluster.store.read() as session:
        return list(session.scalars(people))


def count_users(cluster: Cluster, actor: Actor) -> dict[UserRole, int]:
    """Counts people by role, including disabled ones."""
    require_administrator(actor)
    query = select(User.role, func.count()).where(User.state != UserState.SERVICE).group_by(User.role)
    with cluster.store.read() as session:
        return {row[0]: row[1] for row in session.execute(query)}


def read_user(cluster: Cluster, actor: Actor, user_id: int) -> User:
    """Returns the actor's own user, or any user for administrators. Raises NotFound."""
    if not actor.is_administrator and actor.user_id != user_id:
        raise NotFound("user", user_id)
    with cluster.store.read() as session:
        return load_user(session, user_id)
