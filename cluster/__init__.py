"""The rules and records of a GPU cluster: its rows, its decisions, and the services that change it."""
