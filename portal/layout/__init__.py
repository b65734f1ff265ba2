"""The frame of every page: navigation and theme."""
