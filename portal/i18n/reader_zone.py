"""The time zone in which the reader of a request sees times."""

from urllib.parse import unquote
from zoneinfo import ZoneInfo

from flask import g, has_request_context, request

from cluster.domain.people.time_zones import find_time_zone, utc_offset
from cluster.services.context import Cluster
from portal.i18n.reader import noted_reader
from portal.shared_objects import shared_object

TIME_ZONE_COOKIE = "gc_time_zone"
BROWSER_ZONE_KEY = "groundcrew.browser_zone"


def installation_zone() -> ZoneInfo:
    """The installation's own time zone, in which the days of terms, accounting and log files are counted."""
    return shared_object(Cluster).settings.zone


def request_zone() -> ZoneInfo:
    """The zone in which the reader sees times: the user's choice, the browser's, else the installation's."""
    reader = noted_reader()
    if reader is not None:
        return reader.zone
    if not has_request_context():
        return installation_zone()
    chosen = find_time_zone(g.get("time_zone"))
    if chosen is not None:
        return chosen
    wished: ZoneInfo | None = request.environ.get(BROWSER_ZONE_KEY)
    if wished is None:
        wished = request.environ[BROWSER_ZONE_KEY] = browser_zone() or installation_zone()
    return wished


def browser_zone() -> ZoneInfo | None:
    """The zone that portal/static/js/time_zone.js noted; None if the script has not run or noted no valid zone."""
    return find_time_zone(unquote(request.cookies.get(TIME_ZONE_COOKIE, "")))


def request_zone_name() -> str:
    """ "Asia/Seoul (UTC+9)"."""
    zone = request_zone()
    offset = utc_offset(zone, shared_object(Cluster).clock())
    return zone.key if zone.key == offset else f"{zone.key} ({offset})"
