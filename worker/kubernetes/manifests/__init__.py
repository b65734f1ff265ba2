"""The objects of one attempt, as pure functions of what is allowed to differ: see run.py."""
