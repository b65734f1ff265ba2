"""Images and environments: what a job can run in."""
