"""The scheduler's work for notebooks besides its work for every job."""
