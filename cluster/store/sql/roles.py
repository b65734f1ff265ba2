"""PostgreSQL's roles: at run time no service uses the owner of the tables, and the role of the services may not change
the audit.
"""

from dataclasses import dataclass

from sqlalchemy.engine import URL, make_url

OWNER, SEALER, DOOR = "_owner", "_sealer", "_ssh"
"""The endings of the roles' names. The services' role has none of them."""
READ_AND_WRITE = "SELECT, INSERT, UPDATE, DELETE"
PRIVILEGES = {
    "audit_entries": "SELECT, INSERT",
    "audit_seals": "SELECT",
    "alembic_version": "SELECT",
}
"""The rights of the services on these tables. On every other table they have READ_AND_WRITE."""
DOOR_PRIVILEGES = {
    **dict.fromkeys(("users", "api_tokens", "jobs", "attempts", "trainings", "training_members"), "SELECT"),
    **dict.fromkeys(("workspaces", "workspace_members", "alembic_version"), "SELECT"),
    "ssh_keys": "SELECT, UPDATE (used_at)",
    "installation_facts": "SELECT, INSERT, UPDATE",
    "audit_entries": "SELECT, INSERT",
}
"""The rights of the SSH door: it reads who may enter which job, and records sessions. It has no other rights."""


@dataclass(frozen=True)
class DatabaseRoles:
    """Four roles of one database.

    `owner` migrates, dumps and restores. `services` is every service's. `sealer` may do what `services` may, and
    adds seals to the audit. `door` is the SSH door's, which may do much less than `services`.
    """

    services: str

    @property
    def owner(self) -> str:
        return f"{self.services}{OWNER}"

    @property
    def sealer(self) -> str:
        return f"{self.services}{SEALER}"

    @property
    def door(self) -> str:
        return f"{self.services}{DOOR}"


def roles_of_owner(url: str | URL) -> DatabaseRoles | None:
    """The roles, if the address is the owner's. None for SQLite, and for a database with a single role."""
    name = make_url(url).username or ""
    if make_url(url).get_backend_name() == "sqlite" or not name.endswith(OWNER):
        return None
    return DatabaseRoles(name.removesuffix(OWNER))


def services_url(url: str) -> str:
    """The services' address of the same database. The address of any other role stays as it is."""
    roles = roles_of_owner(url)
    if roles is None:
        return url
    return make_url(url).set(username=roles.services).render_as_string(hide_password=False)


def grant_statements(url: str | URL) -> list[str]:
    """Statements of the owner that give each role its privileges and revoke every other one. They can be repeated.

    Empty for a database with a single role.
    """
    roles = roles_of_owner(url)
    if roles is None:
        return []
    services, sealer = quote_name(roles.services), quote_name(roles.sealer)
    both = f"{services}, {sealer}"
    statements = [
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, {both}",
        f"GRANT {READ_AND_WRITE} ON ALL TABLES IN SCHEMA public TO {services}",
        f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {services}",
    ]
    for table, privileges in PRIVILEGES.items():
        statements.append(f"REVOKE ALL ON TABLE public.{table} FROM {services}")
        statements.append(f"GRANT {privileges} ON TABLE public.{table} TO {services}")
    statements.append(f"GRANT INSERT ON TABLE public.audit_seals TO {sealer}")
    return [*statements, door_statement(roles.door)]


def door_statement(role: str) -> str:
    """Gives the SSH door its privileges, unless there is no such role, or the tables are of a version without a door: a
    backup of that version is restored before it is migrated.
    """
    door = quote_name(role)
    grants = [
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {door}",
        f"GRANT USAGE ON SEQUENCE public.audit_entries_id_seq TO {door}",
        *(f"GRANT {rights} ON TABLE public.{table} TO {door}" for table, rights in DOOR_PRIVILEGES.items()),
    ]
    literal = "'" + role.replace("'", "''") + "'"
    is_there = f"EXISTS (SELECT FROM pg_roles WHERE rolname = {literal})"
    return (
        f"DO $door$ BEGIN IF {is_there} AND to_regclass('public.ssh_keys') IS NOT NULL THEN "
        f"{'; '.join(grants)}; END IF; END $door$"
    )


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
