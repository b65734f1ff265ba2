"""What the pages of repairs show."""
