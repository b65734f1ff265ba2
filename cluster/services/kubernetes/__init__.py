"""Kubernetes: its last known status, and the id of this installation in it."""
