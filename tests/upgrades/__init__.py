"""Dumps of released schemas, from which the tests of later migrations begin."""
