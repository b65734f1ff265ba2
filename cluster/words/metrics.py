"""Names and values of metrics as lists, sweeps and mails write them."""

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.jobs.metric_names import is_accuracy
from cluster.words.formatting import format_metric_value
from cluster.words.sentences import word


def metric_name(metric: str, language: str) -> str:
    """A metric of the program's own keeps its name."""
    return word("metric", metric, language)


def format_margins(metric: str, margins: tuple[float, float]) -> str:
    """ "+1.2 … +1.3 %p" of an accuracy, "+0.5" of anything else."""
    scale, unit = (100, " %p") if is_accuracy(metric) else (1, "")
    low, high = (f"{margin * scale:+.{1 if unit else 3}{'f' if unit else 'g'}}" for margin in margins)
    return (low if low == high else f"{low} … {high}") + unit


def value_word(headline: HeadlineMetric, language: str) -> str:
    """Whether the value is the best or the last one."""
    return word("metric.value", "best" if headline.is_best else "last", language)


def format_headline(headline: HeadlineMetric, language: str) -> str:
    """ "val accuracy 98.3 % (best)"."""
    value = format_metric_value(headline.metric, headline.value)
    return f"{metric_name(headline.metric, language)} {value} ({value_word(headline, language)})"
