"""The loads of the GPUs of a running job, as the agents of their nodes last measured them."""

from datetime import datetime

from flask import Flask

from cluster.domain.nodes.gpu_load import GpuLoad, parse_gpu_loads
from cluster.domain.nodes.node_state import node_state_of
from cluster.domain.states import JobState, NodeState
from cluster.store.nodes import Unit
from portal.presenters.jobs.job_page import JobView


def init_app(app: Flask) -> None:
    app.add_template_global(gpu_loads_of_job)


def gpu_loads_of_job(view: JobView) -> list[tuple[Unit, GpuLoad]]:
    """The GPUs of the job with their loads, without those of silent nodes. Nothing for an earlier attempt."""
    if not view.is_newest or view.job.state is not JobState.RUNNING:
        return []
    found = ((unit, load_of_unit(unit, view.now)) for unit in view.units)
    return [(unit, load) for unit, load in found if load is not None]


def load_of_unit(unit: Unit, now: datetime) -> GpuLoad | None:
    if node_state_of(unit.node, now) in (NodeState.UNREACHABLE, NodeState.LOST):
        return None
    return parse_gpu_loads(unit.node.facts).get(unit.identity)
