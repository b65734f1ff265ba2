"""Sweeps: the jobs of a parameter search, their names, and how they are compared."""
