"""Which zone a reader sees."""

import pytest
from flask import Flask, g

from portal.i18n import translate
from portal.i18n.reader_zone import request_zone_name
from tests.unit.portal.conftest import NOW


@pytest.mark.parametrize(
    ("chosen", "cookie", "clock", "name"),
    [
        (None, None, "14:06", "Asia/Seoul (UTC+9)"),
        (None, "Europe%2FBerlin", "06:06", "Europe/Berlin (UTC+1)"),
        ("America/St_Johns", "Europe%2FBerlin", "01:36", "America/St_Johns (UTC-3:30)"),
        ("UTC", "Europe%2FBerlin", "05:06", "UTC"),
        ("Asia/Atlantis", "Europe%2FBerlin", "06:06", "Europe/Berlin (UTC+1)"),
        (None, "..%2F..%2Fetc%2Fpasswd", "14:06", "Asia/Seoul (UTC+9)"),
    ],
)
def test_times_are_in_the_persons_zone_else_the_browsers_else_the_servers(
    bare_app: Flask, chosen: str | None, cookie: str | None, clock: str, name: str
) -> None:
    with bare_app.test_request_context(headers={"Cookie": f"gc_time_zone={cookie}"} if cookie else {}):
        g.time_zone = chosen
        assert (translate.localized_clock(NOW), request_zone_name()) == (clock, name)
