"""What others notice of attackers, for `make test-all` alone: it takes ten minutes and wants an idle machine."""
