"""The domain decides: it takes values and returns values, without clock, network or database."""
