"""The list of users as its page shows it: one row for each."""

from typing import NamedTuple

from cluster.domain.states import UserState
from cluster.store.users import User
from portal.i18n.shown_moments import ShownMoment, shown_age, shown_moment


class UserRow(NamedTuple):
    """One user. `password_changed` is None until the person uses the link."""

    id: int
    name: str
    full_name: str
    is_administrator: bool
    state: UserState
    created: ShownMoment | None
    password_changed: ShownMoment | None


def user_row(user: User) -> UserRow:
    return UserRow(
        user.id,
        user.name,
        user.full_name,
        user.is_administrator,
        user.state,
        shown_moment(user.created_at),
        shown_age(user.password_changed_at) if user.password_hash else None,
    )
