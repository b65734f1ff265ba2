"""How many jobs one cluster of Kubernetes carries through us: minutes to half an hour, for `make test-all` alone."""
