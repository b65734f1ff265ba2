"""Parts of the roles, played by the real programs."""
