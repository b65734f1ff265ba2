"""`/metrics` for Prometheus: readable with the installation's metrics token, or from this machine if there is no
token."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from cluster.domain.kubernetes.status import KubernetesStatus
from cluster.domain.nodes.gpu_load import GpuLoad
from cluster.services.alerts.metrics import ClusterMetrics, read_metrics
from portal.web.request_context import current_cluster

blueprint = Blueprint("metrics", __name__)


class InstallationCollector(Collector):
    """The values of one moment. Every process of the portal reads the same rows, so none keeps them."""

    def __init__(self, numbers: ClusterMetrics) -> None:
        self.numbers = numbers

    def collect(self) -> Iterator[Metric]:
        numbers = self.numbers
        yield labelled_gauge("groundcrew_info", "Which version answers", "version", {numbers.version: 1})
        yield labelled_gauge(
            "groundcrew_jobs",
            "Living jobs by state; waiting is the depth of the queue",
            "state",
            numbers.jobs,
        )
        yield GaugeMetricFamily(
            "groundcrew_oldest_waiting_seconds",
            "How long the job that was submitted first of all that wait has waited",
            numbers.oldest_waiting_seconds,
        )
        yield labelled_gauge(
            "groundcrew_units", "GPUs or CPU slots by what is the case with them", "state", numbers.units
        )
        yield labelled_gauge("groundcrew_nodes", "Nodes by state", "state", numbers.nodes)
        yield labelled_gauge(
            "groundcrew_operations", "Operations that have not ended", "state", numbers.operations
        )
        yield GaugeMetricFamily(
            "groundcrew_verified_backup_age_seconds",
            "Since the newest backup that was restored and found whole was made; +Inf: there is none",
            numbers.backup_age,
        )
        yield GaugeMetricFamily(
            "groundcrew_audit_check_age_seconds",
            "Since the access log was last checked from end to end; +Inf: never",
            numbers.audit_age,
        )
        yield GaugeMetricFamily(
            "groundcrew_audit_whole",
            "1 where the last check found nothing changed",
            float(numbers.is_audit_intact),
        )
        yield GaugeMetricFamily("groundcrew_disk_free_bytes", "Free where the state lies", numbers.disk_free)
        yield GaugeMetricFamily(
            "groundcrew_disk_bytes", "Size of the disk where the state lies", numbers.disk_bytes
        )
        yield GaugeMetricFamily(
            "groundcrew_disk_reserve_bytes",
            "Kept free of it for the database: below that no job starts",
            numbers.disk_reserve,
        )
        yield from gpu_metrics(numbers.gpu_loads)
        yield from self.scheduler_metrics()
        if numbers.kubernetes is not None:
            yield from kubernetes_metrics(numbers.kubernetes)

    def scheduler_metrics(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "groundcrew_scheduler_pulse_age_seconds",
            "Since the scheduler last wrote its pulse, every 15 s; +Inf: never",
            self.numbers.scheduler_age,
        )
        ended = CounterMetricFamily(
            "groundcrew_attempts_ended",
            "Attempts that ended, by the meaning of their exit",
            labels=["meaning"],
        )
        stats = self.numbers.scheduler
        for meaning, count in sorted(stats.ended.items()) if stats else ():
            ended.add_metric([meaning], count)
        yield ended
        if stats is not None:
            spans = {"last": stats.last_seconds, "slowest": stats.slowest_seconds}
            yield labelled_gauge(
                "groundcrew_scheduler_pass_seconds",
                "How long its looks took at the last pulse",
                "which",
                spans,
            )


def gpu_metrics(loads: Mapping[tuple[str, str], GpuLoad]) -> Iterator[Metric]:
    """The loads that the agents last measured. A GPU that does not report a value has none."""
    for name, field, text in (
        ("utilisation_ratio", "utilisation", "How long the GPU worked of the last moment, 0 to 1"),
        ("memory_used_bytes", "memory_used_bytes", "Memory of the GPU in use"),
        ("temperature_celsius", "temperature", "Temperature of the GPU"),
        ("power_watts", "power", "What the GPU draws"),
    ):
        family = GaugeMetricFamily(f"groundcrew_gpu_{name}", text, labels=["node", "gpu"])
        for labels, load in sorted(loads.items(), key=lambda item: item[0]):
            if (value := asdict(load)[field]) is not None:
                family.add_metric(labels, value)
        yield family


def kubernetes_metrics(status: KubernetesStatus) -> Iterator[Metric]:
    """The metrics of Kubernetes, which exist only if jobs run there."""
    yield GaugeMetricFamily(
        "groundcrew_kubernetes_answers",
        "1 while its API server answers",
        float(status.silent_since is None),
    )
    ready = sum(node.is_ready for node in status.nodes)
    nodes = {"ready": ready, "not_ready": len(status.nodes) - ready}
    yield labelled_gauge("groundcrew_kubernetes_nodes", "Nodes as Kubernetes sees them", "state", nodes)
    kinds = {code.partition(".")[2]: number for code, number in status.count().items()}
    text = "Where it does otherwise than the queue decided, now"
    yield labelled_gauge("groundcrew_kubernetes_disagreements_now", text, "kind", kinds)
    yield CounterMetricFamily(
        "groundcrew_kubernetes_disagreements", "The same, each counted once when it began", status.seen
    )


def labelled_gauge(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


@blueprint.get("/metrics")
def metrics() -> ResponseReturnValue:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(InstallationCollector(read_metrics(current_cluster())))
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
