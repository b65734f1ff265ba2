"""Environments made from requirements files: resolved, installed and tried as a user without rights."""
