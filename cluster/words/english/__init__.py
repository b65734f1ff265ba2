"""English by code: sentences, hints on what to do next, titles of families, words for values."""

from types import ModuleType

from cluster.words.english import (
    accounting,
    attention,
    audit,
    backups,
    datasets,
    disks,
    environments,
    exits,
    images,
    jobs,
    kubernetes,
    names,
    nodes,
    operations,
    people,
    repairs,
    requests,
    sweeps,
    trainings,
    waiting,
    workspaces,
)

FEATURES: tuple[ModuleType, ...] = (
    accounting,
    attention,
    audit,
    backups,
    datasets,
    disks,
    environments,
    exits,
    images,
    jobs,
    kubernetes,
    names,
    nodes,
    operations,
    people,
    repairs,
    requests,
    sweeps,
    trainings,
    waiting,
    workspaces,
)


def gather(table: str) -> dict[str, str]:
    """One table of all features; a code stands in one of them only."""
    found: dict[str, str] = {}
    for feature in FEATURES:
        found |= getattr(feature, table, {})
    return found


SENTENCES = gather("SENTENCES")
HINTS = gather("HINTS")
TITLES = gather("TITLES")
WORDS = gather("WORDS")
