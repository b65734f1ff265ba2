"""The namespaces of workspaces and the objects in them, kept equal to the rows."""
