"""Decides: values in, values out; no clock, no network, no database."""
