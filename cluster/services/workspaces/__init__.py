"""Workspaces: terms, members, units, and queries."""
