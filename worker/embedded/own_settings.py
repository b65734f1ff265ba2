"""Read the settings of the installation for a command in a terminal: from the environment, else from its file."""

import os

from cluster.settings import MissingSettings, Settings
from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.terminal import exit_with_error
from worker.embedded.settings_file import read_settings_file


def read_installed_settings() -> Settings:
    """Of the environment, as the service units have it, or of the file that `make up` wrote."""
    values = dict(os.environ)
    if "GROUNDCREW_DATABASE_URL" not in values:
        places = find_installation_paths()
        try:
            values = read_settings_file(places.settings_file)
        except PermissionError:
            exit_with_error(
                "{file} may not be read by this user. Run the console as root.", file=places.settings_file
            )
        if not values:
            exit_with_error("Nothing is installed for {clone}. Begin with: make up", clone=places.clone)
    try:
        return Settings.from_environment(values)
    except MissingSettings as error:
        exit_with_error("No usable value for: {names}", names=", ".join(error.data["names"]))
