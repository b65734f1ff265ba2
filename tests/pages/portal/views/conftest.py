"""The lab of the pages, for the tests of this folder."""

from tests.pages.portal.pages_lab import lab

__all__ = ["lab"]
