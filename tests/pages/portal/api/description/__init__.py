"""REST does as its description says."""
