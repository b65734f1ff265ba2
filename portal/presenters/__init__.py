"""Values as pages show them, read from services."""
