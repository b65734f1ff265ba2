"""Sweeps: submission, queries and stops."""
