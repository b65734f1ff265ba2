"""Where the code of a training and of a job came from, as pages and REST show it."""
