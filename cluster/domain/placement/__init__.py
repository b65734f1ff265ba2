"""Placement: which waiting job gets which units, and when the others could start."""
