"""Translations: messages, numbers and dates in the reader's language."""
