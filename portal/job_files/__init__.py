"""Reads the files of an attempt: logs, metrics, usage and the shim's plan. User programs may write them, so nothing
in them is trusted.
"""
