"""The sample for a reading is the same for the same seed, and has all prose of a module."""

from tests.structure.sample import draw_modules, read_prose
from tests.structure.source import Module

TEXT = '''"""Headline
of two lines."""

import logging

LIMIT = 3
"""Seconds."""


def stop(name: str) -> None:
    """Stops it."""
    logging.warning("not stopped", name)
    logging.info("stopped")  # A single word is no sentence.
    raise OSError(f"the process {name} hangs")
'''


def test_a_seed_draws_the_same_modules_from_any_order() -> None:
    modules = [Module(f"cluster/{letter}.py", "") for letter in "abcdefghij"]
    drawn = draw_modules(modules, 7, 3)
    assert drawn == draw_modules(modules[::-1], 7, 3)
    assert len({module.path for module in drawn}) == 3
    assert drawn != draw_modules(modules, 8, 3)


def test_docstrings_comments_and_messages_are_prose() -> None:
    assert read_prose(Module("cluster/a.py", TEXT)) == [
        (1, "Headline of two lines."),
        (7, "Seconds."),
        (11, "Stops it."),
        (12, '"not stopped"'),
        (13, "# A single word is no sentence."),
        (14, '"the process {name} hangs"'),
    ]
