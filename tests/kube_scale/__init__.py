"""The test of scale, for `make test-all` alone: thousands of jobs in one cluster take minutes to half an hour."""
