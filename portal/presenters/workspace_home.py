"""The values of a workspace's page: its units and their holders, jobs, trainings, datasets and permissions."""

from collections import Counter

from cluster.domain.states import JobState
from cluster.services import datasets, trainings
from cluster.services.jobs import queries
from cluster.services.jobs.queries import JobLine
from cluster.services.people.access import can_change_workspace
from cluster.services.storage.workspace_storage import list_stored_environments, storage_of
from cluster.services.workspaces.queries import read_units_in_use_of
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace
from portal.i18n.translate import _
from portal.presenters.nodes.unit_bars import largest_free_block, workspace_bars
from portal.presenters.queue.waiting_texts import read_explanations
from portal.presenters.workspace_page import state_now
from portal.web.request_context import current_actor, current_cluster

UNIT_HOLDING_STATES = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
JOBS_SHOWN = 8
JOBS_COUNTED = 200


def read_home_values(workspace: Workspace) -> dict[str, object]:
    cluster, actor = current_cluster(), current_actor()
    used = read_units_in_use_of(cluster, [workspace.id])[workspace.id]
    holding = queries.list_jobs(
        cluster, actor, states=UNIT_HOLDING_STATES, workspace_id=workspace.id, limit=JOBS_COUNTED
    )
    recent = queries.list_jobs(cluster, actor, workspace_id=workspace.id, limit=JOBS_SHOWN)
    read_explanations(recent)
    shown_trainings = trainings.list_trainings(cluster, actor, workspace.id)
    storage = storage_of(workspace)
    return {
        "state": state_now(workspace),
        "storage": storage,
        # They are read only if the storage is nearly full.
        "stored_environments": list_stored_environments(cluster, workspace.id) if storage.is_full else [],
        "used": used,
        "mine": sum(job.units for job in holding if job.user_id == actor.user_id),
        "my_jobs": sum(job.user_id == actor.user_id for job in holding),
        "legend": units_legend(holding, actor.user_id),
        "free_now": largest_free_block(workspace.units - used),
        "bars": workspace_bars(holding, workspace, used, actor.user_id),
        "by_person": units_by_person(holding),
        "recent": recent,
        "trainings": shown_trainings,
        "next_training_id": next_training_id(recent, shown_trainings, actor.user_id),
        "datasets": datasets.list_datasets(cluster, actor, workspace.id),
        "may_edit": can_change_workspace("workspace.edit", actor, workspace),
        "may_extend": can_change_workspace("workspace.extend", actor, workspace),
        "may_end": can_change_workspace("workspace.end", actor, workspace),
    }


def next_training_id(recent: list[JobLine], shown: list[Training], user_id: int) -> int | None:
    """The training for which "New job" opens the form: that of the person's last job here, else the newest one."""
    own = next((job.training_id for job in recent if job.user_id == user_id), None)
    return own or next((training.id for training in shown), None)


def units_legend(holding: list[JobLine], user_id: int) -> list[dict[str, object]]:
    """The two colours of the bars; empty if nothing runs."""
    mine = sum(job.units for job in holding if job.user_id == user_id)
    others = sum(job.units for job in holding if job.user_id != user_id)
    shown = ({"fill": 1, "word": _("me"), "count": mine}, {"fill": 2, "word": _("others"), "count": others})
    return [dict(item) for item in shown if item["count"]]


def units_by_person(holding: list[JobLine]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for job in holding:
        summed[job.user_name] += job.units
    return summed
