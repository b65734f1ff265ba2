"""REST about the caller: their SSH keys, and what they are told of."""
