"""Describes each alert for the reader: its sentence, its hint and the page that it leads to."""

from collections.abc import Iterator
from dataclasses import dataclass

from flask import g
from markupsafe import Markup, escape

from cluster.domain.alerts import Alert, AlertTopic
from cluster.portal_paths import alert_path
from cluster.services.alerts.current_alerts import list_alerts, start_outage_alerts
from portal.i18n.messages import N_, localized_sentence
from portal.i18n.translate import _
from portal.web.request_context import current_actor, current_cluster

BOLD_DATA = ("job", "node", "name", "pod")
"""Names in the data of an alert."""
BUTTON_LABELS = {
    AlertTopic.JOB: N_("See job"),
    AlertTopic.OPERATION: N_("See what failed"),
    AlertTopic.NODE: N_("See node"),
    AlertTopic.ENGINE: N_("See nodes"),
    AlertTopic.KUBERNETES: N_("See nodes"),
    AlertTopic.BACKUPS: N_("See backups"),
    AlertTopic.DISK: N_("Free disk space"),
    AlertTopic.DATASET: N_("See dataset"),
    AlertTopic.WORKSPACE: N_("See workspace"),
    AlertTopic.ENVIRONMENT: N_("See what failed"),
    AlertTopic.TELLING: N_("See address"),
}
NAVIGATION_PATHS = {
    AlertTopic.JOB: "/jobs",
    AlertTopic.OPERATION: "/operations",
    AlertTopic.NODE: "/nodes",
    AlertTopic.ENGINE: "/nodes",
    AlertTopic.KUBERNETES: "/nodes",
    AlertTopic.BACKUPS: "/repairs",
    AlertTopic.DISK: "/repairs",
    AlertTopic.WORKSPACE: "/workspaces",
    AlertTopic.ENVIRONMENT: "/operations",
}


@dataclass(frozen=True)
class AlertLine:
    """`kind` is a state of the macros; `button_label` the word on the one way out, which leads to `href`."""

    kind: str
    sentence: Markup
    detail: str = ""
    href: str | None = None
    button_label: str = ""
    state_word: str | None = None
    navigation_path: str = "/"
    """The path of the navigation item that counts it too."""


def read_alert_lines() -> list[AlertLine]:
    """Read once per request: the page and the navigation show the same."""
    if "alert_lines" not in g:
        alerts = list_alerts(current_cluster(), current_actor())
        g.alert_lines = [alert_line(alert) for alert in alerts]
    lines: list[AlertLine] = g.alert_lines
    return lines


def executor_alert_lines() -> Iterator[AlertLine]:
    """For administrators: what starts jobs does not answer, or a disk has no room."""
    if current_actor().is_administrator:
        yield from map(alert_line, start_outage_alerts(current_cluster()))


def alert_line(alert: Alert) -> AlertLine:
    is_administrator = current_actor().is_administrator
    extends = alert.topic is AlertTopic.WORKSPACE and is_administrator
    path = alert_path(alert, is_administrator)
    return AlertLine(
        alert.urgency.value,
        embolden_names(localized_sentence(alert.code, alert.data), alert),
        " · ".join(localized_sentence(detail.code, detail.data) for detail in alert.details),
        path or None,
        (_("Extend") if extends else _(BUTTON_LABELS[alert.topic])) if path else "",
        navigation_path=NAVIGATION_PATHS.get(alert.topic, "/"),
    )


def embolden_names(sentence: str, alert: Alert) -> Markup:
    """The sentence with its names in bold."""
    text = escape(sentence)
    for name in [str(alert.data[key]) for key in BOLD_DATA if key in alert.data]:
        text = Markup(text.replace(escape(name), Markup("<b>%s</b>") % name, 1))
    return text
