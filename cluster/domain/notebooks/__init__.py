"""Notebooks: how their server is started, by which address they are reached, and when an idle one is stopped."""
