"""The logs of a job as its page shows them: one file, several in one, or what a search has found."""
