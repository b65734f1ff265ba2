"""Decides from a job's metrics whether its training has diverged: a loss became NaN or infinite."""

import re
from collections.abc import Mapping

WORD_ENDS = re.compile(r"[/_. -]")


def is_loss(metric: str) -> bool:
    """Whether `loss` is a word of the name: `loss/train`, `val_loss`. The shim decides the same (shim_metrics.py)."""
    return "loss" in WORD_ENDS.split(metric.lower())


def diverged_loss(not_finite: Mapping[str, int]) -> str | None:
    """The first loss with values that are not finite, by the number of such values of each metric. Other metrics may
    have some for a while in a healthy training.
    """
    return next((metric for metric, count in not_finite.items() if count and is_loss(metric)), None)
