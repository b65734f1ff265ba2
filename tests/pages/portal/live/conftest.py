"""The portal with its streams, for the tests of this folder."""

from tests.pages.portal.stream_lab import app

__all__ = ["app"]
