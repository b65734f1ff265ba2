"""Pages of users, their profiles and their sessions."""
