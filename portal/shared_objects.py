"""The objects that all requests of one process share, kept by their class.

The layer that owns a class shares its object; the layers below never name that class.
"""

from typing import TypeVar

from flask import Flask, current_app

Shared = TypeVar("Shared")

KEY = "groundcrew"


def share_object(app: Flask, kind: type[Shared], shared: Shared) -> None:
    """Keep `shared` as the application's one object of the class `kind`."""
    app.extensions.setdefault(KEY, {})[kind] = shared


def shared_object(kind: type[Shared], app: Flask | None = None) -> Shared:
    """The object of the class `kind`; without `app` that of the current request. Raises KeyError if none is shared."""
    shared: Shared = (app or current_app).extensions[KEY][kind]
    return shared
