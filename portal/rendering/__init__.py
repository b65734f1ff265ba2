"""How templates become HTML: compiled once per language, rendered once per value."""
