"""Describes each alert for the reader: its sentence, its hint and the page that it leads to."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from flask import url_for
from markupsafe import Markup, escape

from cluster.domain.alerts import Alert, AlertTopic
from cluster.portal_paths import alert_path
from cluster.services.alerts.current_alerts import CurrentAlerts, read_current_alerts
from cluster.services.alerts.start_alerts import silent_scheduler_alerts, start_outage_alerts
from portal.i18n.messages import N_, localized_sentence
from portal.i18n.sentence_times import with_times
from portal.i18n.translate import _, ngettext
from portal.web.request_context import current_actor, current_cluster, read_once

LINES_PER_CODE = 8
"""The most alerts of a kind that are shown, because a network that is down makes hundreds of nodes silent at once."""
JOB_FAILED, DATASET_FAILED = "attention.job_failed", "attention.dataset_failed"
DISMISSED = frozenset({JOB_FAILED, DATASET_FAILED})
"""Alerts of things that are over, which a person can dismiss. All other alerts end by themselves."""
BOLD_DATA = ("job", "node", "name", "pod")
"""The names in an alert's data that the page sets in bold."""
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
    AlertTopic.SCHEDULER: N_("See repairs"),
}
NAVIGATION_PATHS = {
    AlertTopic.JOB: "/jobs",
    AlertTopic.OPERATION: "/operations",
    AlertTopic.NODE: "/nodes",
    AlertTopic.ENGINE: "/nodes",
    AlertTopic.KUBERNETES: "/nodes",
    AlertTopic.BACKUPS: "/repairs/backups",
    AlertTopic.DISK: "/repairs",
    AlertTopic.WORKSPACE: "/workspaces",
    AlertTopic.ENVIRONMENT: "/operations",
    AlertTopic.SCHEDULER: "/queue",
}


@dataclass(frozen=True)
class Dismissal:
    """The values that the form sends to dismiss the alert. `subject` is an id, or `all`."""

    topic: str
    subject: str
    label: str


@dataclass(frozen=True)
class AlertLine:
    """One alert. `kind` is a state of the macros; `button_label` names the button, and `href` is where it leads."""

    kind: str
    sentence: Markup
    detail: Markup = Markup()
    href: str | None = None
    button_label: str = ""
    state_word: str | None = None
    dismissal: Dismissal | None = None


@dataclass(frozen=True)
class AlertPanel:
    """The shown alerts. `count` is the number of all; a further line says how many more of one kind there are."""

    count: int
    lines: list[AlertLine]


def read_alert_panel() -> AlertPanel:
    """Reads the alerts once per request, so that the page and the navigation count the same."""
    current = read_once(read_current_alerts)
    met, lines = Counter[str](), list[AlertLine]()
    counts = Counter(alert.code for alert in current.alerts)
    for alert in current.alerts:
        met[alert.code] += 1
        if met[alert.code] <= LINES_PER_CODE:
            lines.append(alert_line(alert))
        if met[alert.code] == counts[alert.code]:
            named = min(LINES_PER_CODE, counts[alert.code])
            more = counts[alert.code] - named + current.unnamed.get(alert.code, 0)
            lines += [further_alerts_line(alert, more)] if more else []
    return AlertPanel(current.count, lines)


def further_alerts_line(alert: Alert, count: int) -> AlertLine:
    """The line that says how many more alerts of a kind there are, with a link to the list of their subjects."""
    sentence = ngettext("and %(num)d more", "and %(num)d more", count)
    return AlertLine(
        alert.urgency.value,
        escape(sentence),
        href=url_for("jobs.index", state="failed", user=current_actor().user_id)
        if alert.code == JOB_FAILED
        else navigation_path(alert),
        button_label=_("See all"),
        dismissal=Dismissal(alert.topic.value, "all", _("Dismiss all")) if alert.code in DISMISSED else None,
    )


def count_by_navigation_path(current: CurrentAlerts) -> Counter[str]:
    counts = Counter(navigation_path(alert) for alert in current.alerts)
    for code, more in current.unnamed.items():
        counts[next(navigation_path(alert) for alert in current.alerts if alert.code == code)] += more
    return counts


def navigation_path(alert: Alert) -> str:
    """The path of the navigation item that counts it too."""
    return NAVIGATION_PATHS.get(alert.topic, "/")


def silent_scheduler_line() -> AlertLine | None:
    """The line for pages that show what the scheduler wrote: the scheduler has stopped writing, and since when."""
    return next(map(alert_line, silent_scheduler_alerts(current_cluster())), None)


def executor_alert_lines() -> Iterator[AlertLine]:
    """Lines for administrators: the executor does not answer, or a disk has no room."""
    if current_actor().is_administrator:
        yield from map(alert_line, start_outage_alerts(current_cluster()))


def alert_line(alert: Alert) -> AlertLine:
    is_administrator = current_actor().is_administrator
    extends = alert.topic is AlertTopic.WORKSPACE and is_administrator
    path = alert_path(alert, is_administrator)
    return AlertLine(
        alert.urgency.value,
        with_times(embolden_names(localized_sentence(alert.code, alert.data), alert), alert.data),
        Markup(" · ").join(
            with_times(localized_sentence(detail.code, detail.data), detail.data) for detail in alert.details
        ),
        path or None,
        (_("Extend") if extends else _(BUTTON_LABELS[alert.topic])) if path else "",
        dismissal=Dismissal(alert.topic.value, str(alert.subject), _("Dismiss"))
        if alert.code in DISMISSED
        else None,
    )


def embolden_names(sentence: str, alert: Alert) -> Markup:
    """The sentence with its names in bold."""
    text = escape(sentence)
    for name in [str(alert.data[key]) for key in BOLD_DATA if key in alert.data]:
        text = Markup(text.replace(escape(name), Markup("<b>%s</b>") % name, 1))
    return text
