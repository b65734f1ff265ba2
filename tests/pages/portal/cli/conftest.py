"""The lab behind REST and the command, for the tests of this folder."""

from tests.pages.portal.command_lab import run
from tests.pages.portal.rest_lab import lab

__all__ = ["lab", "run"]
