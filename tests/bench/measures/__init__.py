"""One module per measure; each has `run(ground)` and a docstring that the report repeats."""
