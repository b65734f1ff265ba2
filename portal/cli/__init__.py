"""The `groundcrew` command, which uses REST, click and the standard library, and no code of the portal."""

from .main import main

__all__ = ["main"]
