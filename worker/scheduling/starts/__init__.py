"""Starts of attempts: the rows, the start plan with the program, the checkpoint, and the call of the executor."""
