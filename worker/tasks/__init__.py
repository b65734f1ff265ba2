"""The operations that task workers run: load the row, do the work, record the result."""
