"""English by code: sentences, hints on what to do next, titles of families, words for values."""

from types import ModuleType

from cluster.words.english import (
    accounting,
    alerts,
    audit,
    backups,
    datasets,
    disks,
    environments,
    exits,
    failures,
    git,
    images,
    jobs,
    kubernetes,
    metrics,
    names,
    nodes,
    notebooks,
    notifications,
    operations,
    people,
    repairs,
    requests,
    runs,
    ssh,
    sweeps,
    trainings,
    waiting,
    workspaces,
)

FEATURES: tuple[ModuleType, ...] = (
    accounting,
    alerts,
    audit,
    backups,
    datasets,
    disks,
    environments,
    exits,
    failures,
    git,
    images,
    jobs,
    kubernetes,
    metrics,
    names,
    nodes,
    notebooks,
    notifications,
    operations,
    people,
    repairs,
    requests,
    runs,
    ssh,
    sweeps,
    trainings,
    waiting,
    workspaces,
)


def merge_word_tables(table: str) -> dict[str, str]:
    """Joins the tables of all features. A code may be in one of them only."""
    found: dict[str, str] = {}
    for feature in FEATURES:
        found |= getattr(feature, table, {})
    return found


SENTENCES = merge_word_tables("SENTENCES")
HINTS = merge_word_tables("HINTS")
TITLES = merge_word_tables("TITLES")
WORDS = merge_word_tables("WORDS")
