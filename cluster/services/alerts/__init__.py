"""Alerts: what needs a person, its notifications, and metrics for monitoring."""
