"""What Kubernetes says, in our own words: pure functions over the plain dictionaries that its API answers with."""
