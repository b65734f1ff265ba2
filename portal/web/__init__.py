"""HTTP: requests, responses, permissions, errors, forms and uploads."""
