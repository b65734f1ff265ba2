"""Templates as HTML: compiled once per language, rendered once per value."""
