"""The folders that lead to an attempt's: ours, for the job's group to pass through, closed to everybody else."""

import os

from worker.executors.contract import StartPlan


def make_folders(plan: StartPlan) -> None:
    """That of the job and that of the attempt. Safe to repeat."""
    owner = plan.services[0] if plan.services else -1
    for folder in (plan.folder.parent, plan.folder):
        folder.mkdir(parents=True, exist_ok=True)
        if plan.gid is not None:
            os.chown(folder, owner, plan.gid)
        folder.chmod(0o750)
