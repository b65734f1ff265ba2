"""Against a real API server of Kubernetes: see tests/api_server.py."""
