"""The audit: entries, seals, epochs, and a log file per day."""
