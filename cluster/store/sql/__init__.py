"""SQL that SQLite and PostgreSQL both need in one shape, and SQLite's own: its file, its writers, a full disk."""
