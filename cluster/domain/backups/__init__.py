"""Backups: when one is due, which are kept, and what is wrong with one."""
