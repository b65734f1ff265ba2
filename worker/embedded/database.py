"""The database of the embedded set: made, or copied and migrated, before a service opens it."""

from cluster import words
from cluster.domain.errors import GroundcrewError
from cluster.settings import Settings
from cluster.store.migrate import upgrade
from worker.embedded.say import language, say, stop


def ensure_database(settings: Settings) -> None:
    """Ends with a sentence where this code is older than the database, or where it is somebody else's."""
    try:
        done = upgrade(settings)
    except GroundcrewError as error:
        stop(
            "{reason} Nothing was changed. The database, and the copies made before each migration, "
            "are in {folder}",
            reason=words.say(error.code, error.data, language()),
            folder=settings.state_dir / "database",
        )
    if done.copy is not None:
        say("The database was copied to {copy} and brought to this version.", copy=done.copy)
