"""What a command at the terminal works with: the settings of the services beside it."""

import os

from cluster.settings import MissingSettings, Settings
from worker.embedded.places import find_places
from worker.embedded.say import stop
from worker.embedded.settings_file import read_settings


def own_settings() -> Settings:
    """Of the environment, as the service units have it, or of the file that `make up` wrote."""
    values = dict(os.environ)
    if "GROUNDCREW_DATABASE_URL" not in values:
        places = find_places()
        try:
            values = read_settings(places.environment_file)
        except PermissionError:
            stop(
                "{file} may not be read by this user. Run the console as root.", file=places.environment_file
            )
        if not values:
            stop("Nothing is installed for {clone}. Begin with: make up", clone=places.clone)
    try:
        return Settings.from_environment(values)
    except MissingSettings as error:
        stop("No usable value for: {names}", names=", ".join(error.data["names"]))
