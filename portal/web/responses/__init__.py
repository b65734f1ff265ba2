"""Responses: whole pages and fragments, CSV files, and files that are streamed."""
