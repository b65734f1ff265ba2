"""Jobs: submission, queries, attempts, stops, usage and files."""
