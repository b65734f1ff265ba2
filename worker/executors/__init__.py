"""Start, list and stop attempts."""
