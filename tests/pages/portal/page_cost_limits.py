"""What pages cost today where they cost more than they should: each figure may only fall.

`python -m tests.bench.page_costs.page_statements` prints them all.
"""

MOST_STATEMENTS = 12
"""What a page of any size is to execute."""
STATEMENTS = {
    "administrator /": 31,
    "administrator /jobs": 19,
    "administrator /jobs?state=living": 19,
    "administrator /jobs?state=waiting": 19,
    "administrator /queue": 37,
    "administrator /queue?state=waiting": 35,
    "administrator /queue?state=held": 34,
    "administrator /queue?state=running": 35,
    "administrator /queue?workspace": 27,
    "administrator /queue?user": 37,
    "administrator /queue?reason": 36,
    "administrator /workspaces/<id>": 17,
    "administrator /api/v1/jobs": 16,
    "administrator /api/v1/queue": 32,
    "member /": 30,
    "member /jobs": 18,
    "member /jobs?state=living": 18,
    "member /jobs?state=waiting": 18,
    "member /queue": 36,
    "member /queue?state=waiting": 34,
    "member /queue?state=held": 33,
    "member /queue?state=running": 34,
    "member /queue?workspace": 26,
    "member /queue?user": 36,
    "member /queue?reason": 35,
    "member /workspaces/<id>": 17,
    "member /api/v1/jobs": 16,
    "member /api/v1/queue": 32,
}
"""Pages that execute more than that, with how many they execute in the larger of both installations."""
GROWING = {
    "administrator /jobs?user&state=stopped",
    "administrator /accounting",
    "member /jobs?user&state=stopped",
}
"""Pages that execute more statements in the large installation than in the small one."""
MOST_ROWS = 200
"""What a page is to fetch: three times the fifty rows of a list, and what its frame shows."""
ROWS = {
    "administrator /": 1379,
    "administrator /jobs": 847,
    "administrator /jobs?state=living": 806,
    "administrator /jobs?state=waiting": 806,
    "administrator /queue": 807,
    "administrator /queue?state=waiting": 807,
    "administrator /queue?state=held": 796,
    "administrator /queue?state=running": 796,
    "administrator /queue?workspace": 796,
    "administrator /queue?user": 796,
    "administrator /queue?reason": 796,
    "administrator /nodes": 583,
    "administrator /nodes?state": 582,
    "administrator /workspaces": 812,
    "administrator /workspaces/<id>": 605,
    "administrator /trainings": 506,
    "administrator /api/v1/jobs": 741,
    "administrator /api/v1/queue": 700,
    "administrator /api/v1/nodes": 577,
    "administrator /api/v1/workspaces": 806,
    "administrator /api/v1/trainings": 501,
    "member /": 1287,
    "member /queue": 707,
    "member /queue?state=waiting": 707,
    "member /queue?state=held": 696,
    "member /queue?state=running": 696,
    "member /queue?workspace": 696,
    "member /queue?user": 696,
    "member /queue?reason": 696,
    "member /nodes": 584,
    "member /nodes?state": 583,
    "member /workspaces/<id>": 605,
    "member /api/v1/queue": 700,
    "member /api/v1/nodes": 577,
    "administrator /users": 209,
    "administrator /users/<id>": 812,
}
"""Pages that fetch more rows than that from the large installation."""
