"""Pages of environments, and of the wheels that they are built from."""
