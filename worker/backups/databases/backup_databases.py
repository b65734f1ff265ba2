"""Opens the database that is dumped, by the protocol of its kind."""

from sqlalchemy.engine import make_url

from cluster.settings import Settings
from cluster.store.sql.sqlite import sqlite_file
from worker.backups.databases.protocols import BackupDatabase
from worker.backups.databases.sqlite import SqliteDatabase


def open_backup_database(settings: Settings) -> BackupDatabase:
    if sqlite_file(settings.database_url) is None:
        # Importing its driver takes long, so it is imported only where it is used.
        from worker.backups.databases.postgresql import PostgresqlDatabase

        return PostgresqlDatabase(make_url(settings.owner_url))
    return SqliteDatabase(settings)
