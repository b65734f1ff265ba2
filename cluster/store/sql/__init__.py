"""SQL that SQLite and PostgreSQL both need in one shape."""
