"""What people chose to be told of, the events of their jobs and workspaces, and the messages about them."""
