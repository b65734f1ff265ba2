"""The portal over a real database, asked by Flask's test client."""
