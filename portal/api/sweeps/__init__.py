"""Sweeps over REST."""
