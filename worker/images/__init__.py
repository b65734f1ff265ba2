"""The default image: the training environment's description once more, with a system below it, as one archive."""
