"""Starts, opens, saves and stops notebooks."""
