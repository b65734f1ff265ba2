"""Start a portal on the restored scratch database, as the services' role and user, and open four pages as an
administrator.
"""

import tempfile
from pathlib import Path

import httpx
from sqlalchemy import select

from cluster.domain.states import UserRole, UserState
from cluster.portal_paths import DRILL_PAGES, FIRST_ADMINISTRATOR, session_cookie_name
from cluster.services.people.sessions import begin_session
from cluster.settings import Settings
from cluster.store.users import User
from worker.backups.errors import BackupBroken
from worker.backups.scratch_cluster import open_scratch_cluster
from worker.backups.scratch_portal import run_scratch_portal

PAGES_WITHOUT_USERS = (FIRST_ADMINISTRATOR,)
ANSWERS_WITHIN = 60.0


def run_smoke_test(settings: Settings, url: str) -> None:
    """Raises BackupBroken if a page does not open. It adds a session to the scratch database."""
    with (
        tempfile.TemporaryDirectory(prefix="gc-drill-") as name,
        run_scratch_portal(settings, url, Path(name)) as client,
    ):
        cookie = create_session_cookie(settings, url)
        client.cookies.update(cookie)
        for path in DRILL_PAGES if cookie else PAGES_WITHOUT_USERS:
            try:
                answer = client.get(path, timeout=ANSWERS_WITHIN)
            except httpx.HTTPError as error:
                raise BackupBroken("broken.page_silent", path=path, said=str(error)) from error
            if answer.status_code != httpx.codes.OK:
                raise BackupBroken("broken.page_refused", path=path, status=answer.status_code)


def create_session_cookie(settings: Settings, url: str) -> dict[str, str]:
    """The cookie of an administrator's session. Empty if there is no administrator yet."""
    active = select(User.id).where(User.role == UserRole.ADMINISTRATOR, User.state == UserState.ACTIVE)
    with open_scratch_cluster(settings, url) as scratch:
        with scratch.store.read() as session:
            user_id = session.scalar(active.order_by(User.id).limit(1))
        if user_id is None:
            return {}
        return {session_cookie_name(settings.port): begin_session(scratch, user_id, "127.0.0.1", "drill")}
