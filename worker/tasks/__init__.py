"""What RQ runs: load, do, apply."""
