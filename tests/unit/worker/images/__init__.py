"""Tests of the default image's description, its archive and its registry."""
