"""Metrics of attempts: read once as they grow, and shown as curves, tables and CSV."""
