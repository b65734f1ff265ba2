"""One outside thing each; adapters decide nothing."""
