"""Code from git over REST."""
