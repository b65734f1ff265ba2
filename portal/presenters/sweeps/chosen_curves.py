"""The jobs of a sweep whose curves its page draws: those that the address names, and others faint behind them."""

from collections.abc import Sequence

from flask import request

from cluster.domain.sweeps.comparison import SweepJobResult
from portal.job_files.metrics.metric_curves import MAX_COMPARED_JOBS
from portal.presenters.sweeps.sweep_page import SweepView

DEFAULT_CURVES = 4
FAINT_CURVES = 12
"""The number of jobs that were not chosen and are drawn behind the chosen ones."""


def chosen_results(view: SweepView) -> list[SweepJobResult]:
    """The results that the address names, or by default the first ones that have metrics."""
    if "show" in request.args:
        job_ids = [int(text) for text in request.args.getlist("show") if text.isascii() and text.isdigit()]
        by_id = {entry.job_id: entry for entry in view.results}
        return [by_id[job_id] for job_id in job_ids[:MAX_COMPARED_JOBS] if job_id in by_id]
    return [entry for entry in view.results if entry.results][:DEFAULT_CURVES]


def other_results(view: SweepView, lines: Sequence[SweepJobResult]) -> list[SweepJobResult]:
    """The jobs whose curves are drawn faint behind the chosen ones."""
    chosen = {entry.job_id for entry in lines}
    return [entry for entry in view.results if entry.results and entry.job_id not in chosen][:FAINT_CURVES]


def drawn_results(view: SweepView) -> list[SweepJobResult]:
    """The chosen jobs, and those that the address names as faint ones."""
    lines, faint = chosen_results(view), set(request.args.getlist("faint")[:FAINT_CURVES])
    return lines + [entry for entry in other_results(view, lines) if str(entry.job_id) in faint]


def toggle_curve(lines: list[SweepJobResult], job_id: int) -> list[int] | str:
    """The curves after a click on a job, which adds or removes it. The first one is removed if all colours are used."""
    ids = [entry.job_id for entry in lines]
    if job_id in ids:
        return sorted(one for one in ids if one != job_id) or "none"
    return sorted([*ids[-(MAX_COMPARED_JOBS - 1) :], job_id])
