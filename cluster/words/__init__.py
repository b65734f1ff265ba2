"""Turn a code and its data into a Korean or English sentence.

English stands in tables by code (`english/`), Korean in .po files by the English text (`ko/`). A code that
nobody has words for is shown as it is, so that no page fails for want of a sentence.
"""

from cluster.words.formatting import (
    format_age,
    format_capped_count,
    format_clock,
    format_counted,
    format_datetime,
    format_day,
    format_duration,
    format_list,
    format_number,
    format_percent,
    format_short_datetime,
    format_size,
    format_units,
    parse_moment,
    unit_word,
    with_particle,
)
from cluster.words.sentences import (
    LANGUAGES,
    action_name,
    has_words,
    hint,
    operation_name,
    sentence,
    step_name,
    title,
    waiting_help_sentence,
    waiting_reason_sentence,
    waiting_start_sentence,
    word,
)

__all__ = [
    "LANGUAGES",
    "action_name",
    "format_age",
    "format_capped_count",
    "format_clock",
    "format_number",
    "format_counted",
    "format_datetime",
    "format_day",
    "format_duration",
    "has_words",
    "hint",
    "format_list",
    "operation_name",
    "format_percent",
    "sentence",
    "format_short_datetime",
    "format_size",
    "step_name",
    "parse_moment",
    "title",
    "unit_word",
    "format_units",
    "waiting_help_sentence",
    "waiting_reason_sentence",
    "waiting_start_sentence",
    "with_particle",
    "word",
]
