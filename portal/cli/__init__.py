"""The `groundcrew` command: speaks REST, knows nothing of the portal's code (click and the standard library only)."""

from .main import main

__all__ = ["main"]
