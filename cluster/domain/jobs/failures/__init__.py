"""Finds why jobs fail: the lines of a log that tell the cause, and the known explanations of such lines."""
