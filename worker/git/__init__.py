"""Runs git against servers that nobody here trusts: confined, limited, and without a checkout."""
