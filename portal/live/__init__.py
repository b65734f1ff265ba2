"""Server-sent events of open pages."""
