"""Against a real API server of Kubernetes: see tests/kubernetes/api_server.py."""
