"""Exclude objects that live as long as the process from garbage collection (gc.freeze).

A full collection walks every object that it knows: with the modules, mappers and templates of a service that takes a
tenth of a second, in which the service answers nobody. Objects that exist once the service is ready never become
garbage.
"""

import gc

from sqlalchemy.orm import configure_mappers


def freeze_startup_objects() -> None:
    """Excludes all present objects from garbage collection. A service calls it once it is ready to work.

    A service may begin with the collector disabled, because it imports modules faster so.
    """
    configure_mappers()
    gc.collect()
    gc.freeze()
    gc.enable()
