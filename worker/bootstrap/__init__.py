"""What runs under the system's Python before any environment exists: standard library only."""
