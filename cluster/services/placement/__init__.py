"""Placement's input: what is read from the rows before the domain decides."""
