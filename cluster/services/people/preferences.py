"""People choose language, theme and time zone for themselves."""

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.time_zones import check_time_zone
from cluster.services.context import Cluster
from cluster.store.audit import add_audit_entry
from cluster.store.users import User, load_user

LANGUAGES = ("ko", "en")
THEMES = ("light", "dark")


def set_preferences(
    cluster: Cluster,
    actor: Actor,
    language: str | None = None,
    theme: str | None = None,
    time_zone: str | None = None,
) -> User:
    """Changes the actor's own preferences. None leaves one as it is; an empty text follows the browser again."""
    if language and language not in LANGUAGES:
        raise Refused("language", "preference.unknown", value=language[:20])
    if theme and theme not in THEMES:
        raise Refused("theme", "preference.unknown", value=theme[:20])
    time_zone = check_time_zone(time_zone) if time_zone else time_zone
    with cluster.store.write() as session:
        user = load_user(session, actor.user_id)
        if language is not None:
            user.language = language or None
        if theme is not None:
            user.theme = theme or None
        if time_zone is not None:
            user.time_zone = time_zone or None
        add_audit_entry(
            session, cluster.clock(), actor, "user.preferences_set", user.id,
            language=user.language, theme=user.theme, time_zone=user.time_zone,
        )  # fmt: skip
    return user
