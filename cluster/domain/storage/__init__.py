"""Storage: the reserve of each disk, and what an uploaded archive may contain."""
