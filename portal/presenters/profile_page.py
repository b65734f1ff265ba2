"""The values of a person's own page: sessions, tokens, SSH keys, notifications and the time zone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from cluster.domain.people.time_zones import proposed_zone_names
from cluster.services.notifications import choices
from cluster.services.people import api_tokens, sessions, ssh_keys
from cluster.services.ssh.door_state import SshDoorState, read_door_state
from cluster.store.users import ApiToken, SignInSession, SshKey
from portal.i18n.reader_zone import browser_zone, installation_zone
from portal.i18n.translate import request_language
from portal.presenters.notification_form import NotificationForm, prepare_notification_form
from portal.web.request_context import current_actor, current_cluster


@dataclass(frozen=True)
class ProfilePage:
    """The things that the page lists beside its forms, read at `now`."""

    sessions: Sequence[SignInSession]
    tokens: Sequence[ApiToken]
    ssh_keys: Sequence[SshKey]
    ssh_door: SshDoorState
    notifications: NotificationForm
    zone_names: Sequence[str]
    browser_zone: ZoneInfo
    """The zone in which pages show times if the person chooses none."""
    now: datetime


def read_profile_page(typed: Mapping[str, str]) -> ProfilePage:
    """`typed` are the values of a form that was refused; the page shows them again."""
    cluster, actor = current_cluster(), current_actor()
    return ProfilePage(
        sessions.list_sessions(cluster, actor),
        api_tokens.list_api_tokens(cluster, actor),
        ssh_keys.list_ssh_keys(cluster, actor),
        read_door_state(cluster),
        prepare_notification_form(cluster, choices.read_choices(cluster, actor), typed, request_language()),
        proposed_zone_names(),
        browser_zone() or installation_zone(),
        cluster.clock(),
    )
