"""The checkpoints of a sweep's best jobs, which its page offers."""

from dataclasses import dataclass

from cluster.domain.sweeps.comparison import SweepJobResult, is_descending_first, sort_results
from cluster.files.checkpoints import CheckpointFile
from cluster.services.context import Cluster
from portal.presenters.sweeps.sweep_page import SweepView, files_of_result

BEST_JOBS = 3


@dataclass(frozen=True)
class BestCheckpoint:
    """A job and its best checkpoint, or its newest one if none is known to be the best; None if it has none."""

    entry: SweepJobResult
    file: CheckpointFile | None


def list_best_checkpoints(cluster: Cluster, view: SweepView) -> list[BestCheckpoint]:
    """Lists checkpoints of the three jobs with the best values of the compared metric; empty if none has one."""
    measured = [entry for entry in view.results if entry.results.get(view.metric) is not None]
    is_descending = is_descending_first(view.plan, view.metric, view.headline)
    best = sort_results(measured, view.plan, view.metric, is_descending, view.headline)[:BEST_JOBS]
    found = []
    for entry in best:
        files = files_of_result(cluster, view.sweep, entry)
        newest = max(files.checkpoints, key=lambda one: one.written_at, default=None)
        found.append(BestCheckpoint(entry, files.best_checkpoint or newest))
    return found if any(one.file for one in found) else []
