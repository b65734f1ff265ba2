"""The audit: entries, seals, epochs and the daily log files."""
