"""The values of the pages about repairs."""
