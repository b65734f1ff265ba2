"""SQL that SQLite and PostgreSQL both need in one shape, and the line of SQLite's writers."""
