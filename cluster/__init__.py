"""What a GPU cluster is, and what may happen in it."""
