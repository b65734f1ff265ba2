"""Lists the alerts of this moment: for the pages of the person who asks, and each minute for mails and webhooks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cluster.domain.alerts import URGENCY_ORDER, Alert
from cluster.domain.people.actor import Actor
from cluster.services.alerts.alert_counts import AlertCounts, AlertSource
from cluster.services.alerts.kubernetes_alerts import kubernetes_source
from cluster.services.alerts.node_alerts import node_sources
from cluster.services.alerts.personal_alerts import job_sources, operation_and_dataset_sources
from cluster.services.alerts.start_alerts import environment_source, outage_source, scheduler_source
from cluster.services.alerts.term_alerts import term_source
from cluster.services.alerts.upkeep_alerts import upkeep_sources
from cluster.services.context import Cluster


@dataclass(frozen=True)
class CurrentAlerts:
    """The alerts of this moment, the most urgent first. `unnamed` says by code how many more there are of a kind."""

    alerts: Sequence[Alert]
    unnamed: Mapping[str, int]

    @property
    def count(self) -> int:
        return len(self.alerts) + sum(self.unnamed.values())


def list_alerts(cluster: Cluster, actor: Actor) -> list[Alert]:
    """The alerts that this person can act on, the most urgent first, of each kind the first ones."""
    return list(read_current_alerts(cluster, actor).alerts)


def read_current_alerts(cluster: Cluster, actor: Actor) -> CurrentAlerts:
    """The alerts that this person can act on.

    Every page shows their number. One statement counts the kinds, and only those that exist are read.
    """
    sources = list_sources(cluster, actor)
    with cluster.store.read_columns() as connection:
        counts = ALERT_COUNTS.execute(connection, cluster, actor).one()
    found: list[Alert] = []
    unnamed: dict[str, int] = {}
    for source, count in zip(sources, counts, strict=True):
        alerts = list(source.read()) if count else []
        found += alerts
        if alerts and int(count) > len(alerts):
            unnamed[alerts[-1].code] = int(count) - len(alerts)
    found.sort(key=lambda alert: URGENCY_ORDER.index(alert.urgency))
    return CurrentAlerts(found, unnamed)


def list_sources(cluster: Cluster, actor: Actor) -> Iterator[AlertSource]:
    """Yields the sources in the order in which equally urgent alerts are shown."""
    yield scheduler_source(cluster)
    yield from job_sources(cluster, actor)
    yield environment_source(cluster)
    yield from operation_and_dataset_sources(cluster, actor)
    yield term_source(cluster, actor)
    if actor.is_administrator:
        yield outage_source(cluster)
        yield from upkeep_sources(cluster)
        yield from node_sources(cluster)
        yield kubernetes_source(cluster)


ALERT_COUNTS = AlertCounts(list_sources)
