"""Values of the pages of jobs."""
