"""Users: administrators create, disable and change them; a user is never deleted."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from cluster.domain.errors import NotFound, Refused
from cluster.domain.names import check_mail_address, check_text, check_user_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator, require_person
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
LANGUAGES = ("ko", "en")
THEMES = ("light", "dark")


def add_user_row(session: Session, user: User) -> None:
    """Under the lock, so that nobody takes the name in between."""
    if find_user(session, user.name) is not None:
        raise Refused("name", "user.name_taken", name=user.name)
    session.add(user)
    session.flush()


def service_actor(cluster: Cluster) -> Actor:
    """The installation itself, as audit entries name it; its row is made once and can never sign in."""
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
    cluster: Cluster, actor: Actor, name: str, full_name: str = "", role: UserRole | str = UserRole.USER
) -> tuple[User, str]:
    """The user, and the secret of a link (72 h) by which they choose their password."""
    require_person(actor)
    require_administrator(actor)
    check_user_name(name)
    full_name = check_text(full_name, "full_name", 100)
    now, secret = cluster.clock(), credentials.new_secret()
    user = User(name=name, full_name=full_name, role=parse_role(role), created_at=now)
    with cluster.store.write(lock=USERS_LOCK) as session:
        add_user_row(session, user)
        add_one_time_secret(
            session, PASSWORD_LINK, user.id, credentials.secret_digest(secret), now, LINK_TERM
        )
        add_audit_entry(session, now, actor, "user.created", user.id, name=name, role=user.role.value)
    cluster.events.publish("users", user.id)
    return user, secret


def parse_role(role: UserRole | str) -> UserRole:
    if role not in list(UserRole):
        raise Refused("role", "user.role_unknown", roles=[known.value for known in UserRole])
    return UserRole(role)


def disable_user(cluster: Cluster, actor: Actor, user_id: int) -> User:
    """Ends sessions, tokens and links at once. Raises Refused for the last active administrator."""
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
    """The password is as before; sessions and tokens stay ended."""
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


def set_preferences(
    cluster: Cluster, actor: Actor, language: str | None = None, theme: str | None = None
) -> User:
    """One's own; None leaves a preference as it is, an empty text follows the browser again."""
    if language and language not in LANGUAGES:
        raise Refused("language", "preference.unknown", value=language[:20])
    if theme and theme not in THEMES:
        raise Refused("theme", "preference.unknown", value=theme[:20])
    with cluster.store.write() as session:
        user = load_user(session, actor.user_id)
        if language is not None:
            user.language = language or None
        if theme is not None:
            user.theme = theme or None
        add_audit_entry(
            session, cluster.clock(), actor, "user.preferences_set", user.id,
            language=user.language, theme=user.theme,
        )  # fmt: skip
    return user


def set_email(cluster: Cluster, actor: Actor, email: str) -> User:
    """One's own; empty: nothing is sent any more. Raises Refused."""
    require_person(actor)
    email = check_mail_address(email.strip()) if email.strip() else ""
    with cluster.store.write() as session:
        user = load_user(session, actor.user_id)
        if user.email != (email or None):
            user.email = email or None
            add_audit_entry(session, cluster.clock(), actor, "user.mail_set", user.id, is_set=bool(email))
    return user


def list_users(cluster: Cluster, actor: Actor) -> list[User]:
    """All people by name, disabled ones too; for administrators."""
    require_administrator(actor)
    people = select(User).where(User.state != UserState.SERVICE).order_by(User.name)
    with cluster.store.read() as session:
        return list(session.scalars(people))


def read_user(cluster: Cluster, actor: Actor, user_id: int) -> User:
    """Oneself, or anybody for administrators; raises NotFound."""
    if not actor.is_administrator and actor.user_id != user_id:
        raise NotFound("user", user_id)
    with cluster.store.read() as session:
        return load_user(session, user_id)
