"""Kubernetes: the door to its API server, names and labels, and the objects that are put there."""
