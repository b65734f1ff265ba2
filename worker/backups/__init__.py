"""Backups of the database: made as readable SQL, believed once they have been restored."""
