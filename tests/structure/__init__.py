"""Measures how the code is laid out: folders, names, imports, and where the test of a module lies."""
