"""Everything that a database holds its rows to, as a set that can be compared."""

from sqlalchemy import Connection, create_engine, text

from cluster.store.tables import metadata

POSTGRESQL_SCHEMA = {
    "columns": """SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default
        FROM information_schema.columns WHERE table_schema = 'public'""",
    "constraints": """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace""",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "sequences": "SELECT sequencename, data_type, start_value, increment_by, cycle FROM pg_sequences",
    "triggers": """SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE NOT tgisinternal""",
    "functions": "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
}


def describe_schema(connection: Connection) -> set[tuple[str, ...]]:
    """A tuple per column, constraint, index, sequence, trigger and function; without tables of Alembic and SQLite."""
    if connection.dialect.name == "postgresql":
        found = [
            (kind, *map(str, line))
            for kind, query in POSTGRESQL_SCHEMA.items()
            for line in connection.execute(text(query))
        ]
        return {line for line in found if line[1] != "alembic_version"}
    lines = connection.exec_driver_sql("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    parts: set[tuple[str, ...]] = set()
    for kind, name, sql in lines:
        if name in ("alembic_version", "sqlite_sequence"):
            continue
        # Columns and constraints of a table stand in any order: each counts by itself.
        clauses = split_clauses(sql) if kind == "table" else [sql]
        parts |= {(kind, name, " ".join(clause.split())) for clause in clauses}
    return parts


def without_conditions(schema: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Constraints and indexes by their names alone: PostgreSQL writes the same conditions in other words once they have
    been dumped and read back."""
    return {part[:3] if part[0] in ("constraints", "indexes") else part for part in schema}


def split_clauses(sql: str) -> list[str]:
    """The columns and constraints between a table's outer brackets, on however many lines."""
    clauses, depth = [""], 0
    for character in sql[sql.index("(") + 1 : sql.rindex(")")]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            clauses.append("")
        else:
            clauses[-1] += character
    return clauses


def describe_declared_schema(url: str) -> set[tuple[str, ...]]:
    """What the rows declare, made in the empty database at `url`."""
    engine = create_engine(url)
    with engine.begin() as connection:
        metadata.create_all(connection)
        schema = describe_schema(connection)
    engine.dispose()
    return schema
