"""The pages that guide people: help, search, the first steps and the description of REST."""
