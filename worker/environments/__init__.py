"""The training environments. Each has one description, is built once per machine and is
shared by all clones on it.
"""
