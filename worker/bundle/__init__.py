"""The offline bundle: everything that site.yml installs, in one folder. This package collects, verifies and compares
bundles.
"""
