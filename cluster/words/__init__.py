"""Says in Korean and English what the domain returned."""
