"""People: users, sessions, passwords, API tokens and access."""
