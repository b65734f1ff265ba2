"""The test of hostile use, for `make test-all` alone: it takes ten minutes and wants an idle machine."""
