"""The verbs of `make`: up, down, status, reset, restore, support."""
