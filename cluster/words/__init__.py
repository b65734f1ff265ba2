"""Says in Korean and English what the domain returned: a code and its data become a sentence.

English stands in tables by code (`english/`), Korean in .po files by the English text (`ko/`). A code that
nobody has words for is shown as it is, so that no page fails for want of a sentence.
"""

from cluster.words.counting import (
    clock,
    count,
    counted,
    day,
    duration,
    listed,
    percent,
    size,
    unit_word,
    units,
    with_particle,
)
from cluster.words.sentences import (
    LANGUAGES,
    action,
    has_words,
    hint,
    operation,
    say,
    step,
    title,
    waiting_help,
    waiting_reason,
    waiting_start,
    word,
)

__all__ = [
    "LANGUAGES",
    "action",
    "clock",
    "count",
    "counted",
    "day",
    "duration",
    "has_words",
    "hint",
    "listed",
    "operation",
    "percent",
    "say",
    "size",
    "step",
    "title",
    "unit_word",
    "units",
    "waiting_help",
    "waiting_reason",
    "waiting_start",
    "with_particle",
    "word",
]
