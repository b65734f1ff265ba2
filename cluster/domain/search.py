"""The text of the search box, as the beginning of a name and perhaps a job's number."""

import re
from dataclasses import dataclass

from cluster.domain.names import romanise_hangul

LONGEST_QUERY = 60
LARGEST_NUMBER = 2**31 - 1
LAST_CHARACTER = "~"
"""A character that comes after every character of a name."""
JOB_NUMBER = re.compile(r"(?:job-|#)?([0-9]{1,10})")


@dataclass(frozen=True)
class SearchQuery:
    """`text` is the typed text, `prefix` the beginning of the names that it finds; empty if no name can begin with the
    text.
    """

    text: str
    prefix: str
    job_number: int | None

    @property
    def prefix_end(self) -> str:
        """The first text after all names that begin with the prefix."""
        return self.prefix + LAST_CHARACTER


def parse_search_query(typed: str) -> SearchQuery:
    """Names consist of the small letters a–z, so capitals and Hangul are converted as in names."""
    text = " ".join(typed.split())[:LONGEST_QUERY]
    folded = romanise_hangul(text).casefold()
    prefix = folded if folded.isascii() and folded.isprintable() and " " not in folded else ""
    number = JOB_NUMBER.fullmatch(folded)
    is_number = number is not None and int(number[1]) <= LARGEST_NUMBER
    return SearchQuery(text, prefix, int(number[1]) if number is not None and is_number else None)
