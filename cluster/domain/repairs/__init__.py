"""Repairs: their definitions, checks, runs, and the protocol of the repair broker."""
