"""Notebooks over REST, and the files that they leave."""
