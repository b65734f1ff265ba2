"""What the scheduler does for notebooks besides what it does for every job."""
