"""Executors start, list and stop attempts: as processes, Docker containers, Kubernetes pods, or simulated."""
