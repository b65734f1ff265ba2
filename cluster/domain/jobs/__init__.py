"""Jobs and their attempts: submission, states, exits, launch plans, progress and usage."""
