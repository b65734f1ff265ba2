"""Statements of pages that look at too much of a table that grows: each list may only become shorter.

`python -m tests.bench.page_costs.query_plans [--database postgresql]` prints them.
"""

SQLITE = {
    "administrator /accounting: allocations",
    "administrator /accounting: attempts",
    "administrator /accounting?workspace: allocations",
    "administrator /accounting?workspace: attempts",
    "member /accounting: allocations",
    "member /accounting: attempts",
    "member /accounting?workspace: allocations",
    "member /accounting?workspace: attempts",
    "administrator /access-log?day: audit_entries",
    "administrator /metrics: allocations",
}

POSTGRESQL = {
    "administrator /accounting: allocations",
    "administrator /accounting: attempts",
    "administrator /accounting: jobs",
    "administrator /accounting?workspace: allocations",
    "administrator /accounting?workspace: attempts",
    "administrator /accounting?workspace: jobs",
    "member /accounting: allocations",
    "member /accounting: attempts",
    "member /accounting: jobs",
    "member /accounting?workspace: allocations",
    "member /accounting?workspace: attempts",
    "member /accounting?workspace: jobs",
}
