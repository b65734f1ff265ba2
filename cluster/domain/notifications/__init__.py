"""Decides who is told of which event, in how many messages, and which webhooks may be called."""
