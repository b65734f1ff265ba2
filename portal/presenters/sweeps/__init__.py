"""The values of the pages about sweeps."""
