"""Training environments: one description each, built once per machine and shared by all clones on it."""
