"""The `groundcrew` command: speaks REST, knows nothing of the portal's code (click, rich, httpx only)."""

from .main import main

__all__ = ["main"]
