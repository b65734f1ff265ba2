"""Kubernetes: the API client, names and labels, manifests, and the namespaces of workspaces."""
