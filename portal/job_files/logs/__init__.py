"""Logs of attempts: chunks, times, several logs merged into one, and searches in them."""
