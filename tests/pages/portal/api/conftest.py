"""The lab behind REST, for the tests of this folder."""

from tests.pages.portal.rest_lab import lab

__all__ = ["lab"]
