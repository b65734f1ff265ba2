"""Workspaces as objects of Kubernetes, kept equal to their rows."""
