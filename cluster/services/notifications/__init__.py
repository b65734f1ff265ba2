"""The choices of people, the events of their jobs and workspaces, and the messages about them."""
