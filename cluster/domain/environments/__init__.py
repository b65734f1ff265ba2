"""Environments in which jobs run: who may choose one, what it must have, and requirements files."""
