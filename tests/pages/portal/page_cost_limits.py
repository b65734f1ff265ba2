"""What pages cost today where they cost more than they should: each figure may only fall.

`python -m tests.bench.page_costs.page_statements` prints them all.
"""

MOST_STATEMENTS = 12
"""What a page of any size is to execute."""
STATEMENTS: dict[str, int] = {}
"""Pages that execute more than that, with how many they execute in the larger of both installations."""
GROWING: set[str] = set()
"""Pages that execute more statements in the large installation than in the small one."""
MOST_ROWS = 200
"""What a page is to fetch: three times the fifty rows of a list, and what its frame shows."""
ROWS = {
    "administrator /workspaces": 209,
    "administrator /api/v1/workspaces": 806,
    "administrator /api/v1/trainings": 501,
}
"""Pages that fetch more rows than that from the large installation."""
