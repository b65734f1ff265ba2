"""Environments and default images over REST."""
