"""Jobs over REST: submitting, reading and stopping them, and their files, logs, metrics and runs."""
