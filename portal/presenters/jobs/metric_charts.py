"""Groups a job's metrics into graphs: metrics that belong together, such as the training and the validation of a
loss, share one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cluster.domain.jobs.metric_names import split_metric_name
from portal.i18n.translate import _
from portal.job_files.metrics.job_metrics import MetricSeries

COLOURS = {"train": 1, "validation": 2, "test": 3, "": 4}
FIRST = ("loss", "accuracy", "learning_rate", "images_per_second")
"""The metrics of the built-in models. Their graphs come first."""
HIDDEN = ("epochs",)
"""Metrics of the whole job, which have no curve."""
SHARES = re.compile(r"(^|[/_ -])acc(uracy)?($|[/_ -])", re.ASCII | re.IGNORECASE)


@dataclass
class MetricChart:
    """`lines` maps the key of a curve to its split; `is_share`: values are shown as percent."""

    name: str
    lines: dict[str, str] = field(default_factory=dict)
    is_share: bool = False

    @property
    def group(self) -> str:
        """The part before the first slash. Graphs of one group are beside each other."""
        return self.name.partition("/")[0] if "/" in self.name else ""


def group_metrics(series: Mapping[str, MetricSeries]) -> list[MetricChart]:
    """Makes one chart for each name without its split: those of the built-in models first, then by group and name."""
    charts: dict[str, MetricChart] = {}
    for key in series:
        name, split = split_metric_name(key)
        if key in HIDDEN:
            continue
        if split in charts.get(name, MetricChart(name)).lines.values():
            name, split = key, ""  # `val/loss` beside `valid/loss`: each has a graph of its own.
        charts.setdefault(name, MetricChart(name)).lines[key] = split
    for chart in charts.values():
        chart.lines = dict(sorted(chart.lines.items(), key=lambda line: COLOURS[line[1]]))
        chart.is_share = bool(SHARES.search(chart.name)) and all(is_share(series[key]) for key in chart.lines)
    return sorted(charts.values(), key=chart_order)


def is_share(values: MetricSeries) -> bool:
    return (
        values.lowest is not None
        and values.highest is not None
        and 0 <= values.lowest[0] <= values.highest[0] <= 1
    )


def chart_order(chart: MetricChart) -> tuple[int, str, str]:
    first = FIRST.index(chart.name) if chart.name in FIRST else len(FIRST)
    return first, chart.group.lower(), chart.name.lower()


def describe_charts(series: Mapping[str, MetricSeries]) -> list[dict[str, object]]:
    """The graphs as the page's script reads them, in the language of the request."""
    splits = {"train": _("train"), "validation": _("validation"), "test": _("test"), "": _("now")}
    titles = {
        "loss": _("Loss"),
        "accuracy": _("Accuracy"),
        "learning_rate": _("Learning rate"),
        "images_per_second": _("Images per second"),
    }
    return [
        {
            "name": chart.name,
            "title": titles.get(chart.name, chart.name),
            "group": chart.group,
            "unit": "%" if chart.is_share else "",
            "scale": "log" if chart.name == "learning_rate" else "linear",
            "lines": [
                {"key": key, "word": splits[split], "colour": COLOURS[split]}
                for key, split in chart.lines.items()
            ],
        }
        for chart in group_metrics(series)
    ]
