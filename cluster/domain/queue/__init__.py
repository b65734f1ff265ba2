"""The queue: why a job waits, and when it is expected to start."""
