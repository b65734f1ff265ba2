"""Repairs: requests, previews, runs, targets, and files that can be reclaimed."""
