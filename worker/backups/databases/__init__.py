"""The databases that are backed up: SQLite and PostgreSQL, by one protocol."""
