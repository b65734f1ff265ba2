"""Kubernetes: pure functions that turn objects of its API into reasons and a status of our own."""
