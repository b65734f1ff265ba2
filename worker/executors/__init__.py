"""Executors start, list and stop attempts: as processes, as Docker containers, as Kubernetes pods, or simulated."""
