"""Reads what an attempt wrote: logs, metrics, checkpoints, usage. All of it was written by strangers."""
