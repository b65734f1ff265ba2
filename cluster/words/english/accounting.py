"""English for accounting, by code."""

SENTENCES = {
    "accounting.bad_month": "“{value}” is no month. Write it as 2026-11.",
}

TITLES = {"accounting": "This month cannot be shown"}
