"""What make up does on one machine."""
