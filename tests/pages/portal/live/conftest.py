"""The lab of the pages, for the tests of this folder."""

from tests.pages.portal.pages_lab import lab, one_portal

__all__ = ["lab", "one_portal"]
