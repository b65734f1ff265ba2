"""Nodes: queries, heartbeats, drains, lost nodes and tokens of agents."""
