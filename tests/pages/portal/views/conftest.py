"""The lab of the pages and the portal with its streams, for the tests of this folder."""

from tests.pages.portal.pages_lab import lab, one_portal
from tests.pages.portal.stream_lab import app

__all__ = ["app", "lab", "one_portal"]
