"""The services' role of PostgreSQL adds to the audit and changes nothing of it; what is taken out needs the owner."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from cluster.domain.people.actor import Actor
from cluster.domain.ssh_logins import SshSessionKind
from cluster.domain.states import JobState, TrainingKind
from cluster.services.audit.seals import seal_entries
from cluster.services.context import Cluster
from cluster.services.people.ssh_keys import add_ssh_key
from cluster.services.ssh.door_state import SshDoorState, record_door_state
from cluster.services.ssh.job_access import (
    find_enterable_attempt,
    find_entry,
    list_public_keys,
    newest_job_id,
    renew_entry,
)
from cluster.services.ssh.session_log import record_session_end, record_session_start
from cluster.store.audit import AuditEntry, AuditSeal, add_audit_entry
from cluster.store.engine import Store
from cluster.store.migrate import is_schema_current, upgrade_database
from cluster.store.sql.roles import grant_statements, quote_name, roles_of_owner, services_url
from cluster.store.users import SshKey
from tests.builders import (
    a_job,
    a_node,
    a_training,
    a_user,
    a_workspace,
    actor_of,
    an_administrator,
    holding,
)
from tests.conftest import Clock
from tests.databases import ROLES

KEY = Path("tests/data/ssh_keys/ed25519.pub")
OWNER = "postgresql+psycopg://groundcrew_owner@/groundcrew?host=/run/postgresql"
ATTEMPTS = {
    "edit an entry": "UPDATE audit_entries SET action = 'nothing'",
    "delete an entry": "DELETE FROM audit_entries",
    "cut the entries": "TRUNCATE audit_entries",
    "cut the entries with all that follow": "TRUNCATE audit_entries CASCADE",
    "replace an entry": (
        "INSERT INTO audit_entries SELECT * FROM audit_entries ON CONFLICT (id) DO UPDATE SET action = 'nothing'"
    ),
    "merge an entry": (
        "MERGE INTO audit_entries a USING (SELECT 1 AS id) b ON a.id = b.id WHEN MATCHED THEN DELETE"
    ),
    "edit what it locks": "SELECT * FROM audit_entries FOR UPDATE",
    "edit a seal": "UPDATE audit_seals SET mac = 'nothing'",
    "delete a seal": "DELETE FROM audit_seals",
    "cut the seals": "TRUNCATE audit_seals",
    "add a seal": (
        "INSERT INTO audit_seals (id, at, last_id, entries, key_id, digests, previous, mac)"
        " SELECT id + 1, at, 2147483647, 0, key_id, '[]', mac, mac FROM audit_seals"
    ),
    "drop the table": "DROP TABLE audit_entries",
    "rename the table": "ALTER TABLE audit_entries RENAME TO elsewhere",
    "disable the trigger": "ALTER TABLE audit_entries DISABLE TRIGGER ALL",
    "drop the trigger": "DROP TRIGGER audit_entries_append_only ON audit_entries",
    "replace the trigger's function": (
        "CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'"
    ),
    "add a trigger": (
        "CREATE TRIGGER silent BEFORE INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()"
    ),
    "add a rule": "CREATE RULE silent AS ON INSERT TO audit_entries DO INSTEAD NOTHING",
    "hide rows": "ALTER TABLE audit_entries ENABLE ROW LEVEL SECURITY",
    "leave the triggers out": "SET session_replication_role = replica",
    "set the numbers back": "SELECT setval('audit_entries_id_seq', 1)",
    "become the owner": f"SET ROLE {quote_name(ROLES.owner)}",
    "become the sealer": f"SET ROLE {quote_name(ROLES.sealer)}",
    "give itself the right": (
        f"GRANT ALL ON audit_entries TO {quote_name(ROLES.services)}; DELETE FROM audit_entries"
    ),
    "take the tables over": f"REASSIGN OWNED BY {quote_name(ROLES.owner)} TO {quote_name(ROLES.services)}",
    "pretend another schema": "DELETE FROM alembic_version",
    "make a table of its own": "CREATE TABLE public.mine (id integer)",
}


@pytest.fixture
def database_kind() -> str:
    """SQLite has no roles."""
    return "postgresql"


@pytest.fixture
def portal(cluster: Cluster, clock: Clock) -> Iterator[Store]:
    """The database as the portal sees it, with an entry that is sealed."""
    with cluster.store.write() as session:
        add_audit_entry(session, clock(), Actor(1, "minji"), "user.created", 2)
    clock.move(minutes=2)
    seal_entries(cluster)
    store = Store(services_url(cluster.settings.owner_url))
    yield store
    store.close()


def contents(store: Store) -> list[tuple[int, str]]:
    with store.read() as session:
        entries = session.query(AuditEntry.id, AuditEntry.action).order_by(AuditEntry.id).all()
        seals = session.query(AuditSeal.id, AuditSeal.mac).order_by(AuditSeal.id).all()
    return [(row[0], row[1]) for row in (*entries, *seals)]


@pytest.mark.parametrize("statement", ATTEMPTS.values(), ids=ATTEMPTS)
def test_the_services_change_nothing_of_the_audit(portal: Store, statement: str) -> None:
    before = contents(portal)
    assert len(before) == 2
    with (
        pytest.raises(DBAPIError, match=r"permission denied|must be owner|must be able to SET ROLE"),
        portal.write() as session,
    ):
        session.execute(text(statement))
    assert contents(portal) == before


def test_the_services_add_entries_and_work_with_everything_else(
    portal: Store, cluster: Cluster, clock: Clock
) -> None:
    person = an_administrator(Cluster(portal, cluster.events, cluster.settings, clock))
    with portal.write() as session:
        add_audit_entry(session, clock(), Actor(person.id, person.name), "user.renamed", person.id)
    with portal.write() as session:
        session.execute(text("UPDATE users SET time_zone = NULL"))
        session.execute(text("DELETE FROM installation_facts"))
    assert [entry[1] for entry in contents(portal)[:-1]] == ["user.created", "user.renamed"]
    assert is_schema_current(services_url(cluster.settings.owner_url))


DOOR_ATTEMPTS = {
    "give a person a key": "INSERT INTO ssh_keys (user_id) VALUES (1)",
    "change a key": "UPDATE ssh_keys SET fingerprint = 'x'",
    "remove a key": "DELETE FROM ssh_keys",
    "change a person": "UPDATE users SET role = 'administrator'",
    "change a job": "UPDATE jobs SET user_id = 1",
    "read sessions": "SELECT * FROM sign_in_sessions",
    "read secrets": "SELECT * FROM one_time_secrets",
    "read tickets of notebooks": "SELECT * FROM notebook_entries",
    "edit an entry": "UPDATE audit_entries SET action = 'nothing'",
    "read a seal": "SELECT * FROM audit_seals",
    "delete a fact": "DELETE FROM installation_facts",
    "become the services": f"SET ROLE {quote_name(ROLES.services)}",
    "make a table of its own": "CREATE TABLE public.mine (id integer)",
}


@pytest.fixture
def door(cluster: Cluster) -> Iterator[Store]:
    """The database as the SSH door sees it."""
    url = make_url(cluster.settings.owner_url).set(username=ROLES.door)
    store = Store(url.render_as_string(hide_password=False))
    yield store
    store.close()


@pytest.mark.parametrize("statement", DOOR_ATTEMPTS.values(), ids=DOOR_ATTEMPTS)
def test_the_ssh_door_may_not(door: Store, statement: str) -> None:
    with pytest.raises(DBAPIError, match=r"permission denied"), door.write() as session:
        session.execute(text(statement))


def test_the_ssh_door_lets_in_and_writes_that_down(door: Store, cluster: Cluster) -> None:
    person = a_user(cluster, "minji")
    training = a_training(cluster, a_workspace(cluster, members=(person,)), kind=TrainingKind.ADVANCED)
    job = a_job(cluster, training, person, state=JobState.RUNNING)
    holding(cluster, job, a_node(cluster, 1).units)
    key = add_ssh_key(cluster, actor_of(person), "laptop", KEY.read_text())
    there = Cluster(door, cluster.events, cluster.settings, cluster.clock)
    for _ in range(2):
        record_door_state(there, SshDoorState(True, 2222))
    entry = find_entry(there, job.id, key.fingerprint)
    assert entry is not None and renew_entry(there, entry) == entry
    assert find_enterable_attempt(there, job.id).job_id == newest_job_id(there) == job.id
    assert len(list_public_keys(there, person.id)) == 1
    record_session_start(there, entry, "10.0.0.1", SshSessionKind.SHELL)
    record_session_end(there, entry, "10.0.0.1", SshSessionKind.SHELL, 1.0, "left")
    with cluster.store.read() as session:
        assert session.get_one(SshKey, key.id).used_at is not None


def test_not_even_the_owner_edits_an_entry_by_accident(portal: Store, cluster: Cluster) -> None:
    with (
        closing(Store(cluster.settings.owner_url)) as owner,
        pytest.raises(DBAPIError, match="append-only"),
        owner.write() as session,
    ):
        session.execute(text("DELETE FROM audit_entries"))


def test_an_upgrade_gives_back_what_somebody_has_granted(portal: Store, cluster: Cluster) -> None:
    with closing(Store(cluster.settings.owner_url)) as owner, owner.write() as session:
        session.execute(text(f"GRANT ALL ON audit_seals TO {quote_name(ROLES.services)}"))
        session.execute(text("GRANT ALL ON audit_entries TO PUBLIC"))
    upgrade_database(cluster.settings)
    for statement in (ATTEMPTS["add a seal"], ATTEMPTS["delete an entry"]):
        with pytest.raises(DBAPIError, match="permission denied"), portal.write() as session:
            session.execute(text(statement))


def test_the_roles_follow_from_the_owners_name() -> None:
    roles = roles_of_owner(OWNER)
    assert roles is not None
    assert (roles.owner, roles.services, roles.sealer) == (
        "groundcrew_owner",
        "groundcrew",
        "groundcrew_sealer",
    )
    assert make_url(services_url(OWNER)) == make_url(OWNER.replace("_owner@", "@"))


@pytest.mark.parametrize(
    "url", ["sqlite:////var/lib/x_owner.db", "postgresql+psycopg://alone@/groundcrew?host=/run/postgresql"]
)
def test_a_database_with_a_single_role_is_granted_nothing(url: str) -> None:
    assert roles_of_owner(url) is None and grant_statements(url) == [] and services_url(url) == url
