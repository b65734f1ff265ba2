"""Git sources of trainings: set, fetched by tasks, and the commits that jobs run."""
