"""The database of the embedded set: made, or copied and migrated, before a service opens it."""

from cluster import words
from cluster.domain.errors import GroundcrewError
from cluster.settings import Settings
from cluster.store.migrate import upgrade_database
from worker.bootstrap.terminal import exit_with_error, language_of_terminal, print_sentence


def migrate_database(settings: Settings) -> None:
    """Ends with a sentence where this code is older than the database, or where it is somebody else's."""
    try:
        done = upgrade_database(settings)
    except GroundcrewError as error:
        exit_with_error(
            "{reason} Nothing was changed. The database, and the copies made before each migration, "
            "are in {folder}",
            reason=words.sentence(error.code, error.data, language_of_terminal()),
            folder=settings.state_dir / "database",
        )
    if done.copy is not None:
        print_sentence("The database was copied to {copy} and brought to this version.", copy=done.copy)
