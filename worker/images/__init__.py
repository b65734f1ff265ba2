"""The default container image: the training environment above a distribution, built as one image archive."""
