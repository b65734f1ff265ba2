"""The form of a new job filled in from a whole sweep, or from a job that is to run longer."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from werkzeug.datastructures import MultiDict

from cluster.domain.errors import NotFound
from cluster.domain.sweeps.plan import SweepPlan
from cluster.services.jobs import queries
from cluster.services.sweeps.queries import read_sweep
from cluster.store.jobs import Job, Sweep
from cluster.store.trainings import Training
from portal.presenters.jobs.job_form import VARIABLE_PREFIX, default_values, model_of, values_from_job
from portal.web.request_context import current_actor, current_cluster

EPOCHS = "epochs"
LONGEST_FACTOR = 100
EPOCHS_ARGUMENT = re.compile(r"(^|\s)(--?(?:num[_-])?epochs[= ]|(?:num_)?epochs=)([0-9]{1,6})(?=\s|$)")


def read_sweep_values(training: Training, sweep_id: int) -> MultiDict[str, Any]:
    """Reads the form that submitted the sweep, with all its values. Raises NotFound for a sweep of another training."""
    cluster, actor = current_cluster(), current_actor()
    sweep = read_sweep(cluster, actor, sweep_id)
    if sweep.training_id != training.id:
        raise NotFound("sweep", sweep_id)
    (one,) = queries.list_jobs(cluster, actor, sweep_id=sweep_id, limit=1)
    values = values_from_sweep(sweep, queries.read_job(cluster, actor, one.id))
    for name, value in default_values(training).items():
        values.setdefault(name, value)
    return values


def values_from_sweep(sweep: Sweep, job: Job) -> MultiDict[str, Any]:
    """The values as the form would send them: all values of each parameter, and the settings of one of its jobs."""
    plan = SweepPlan.from_data(sweep.plan)
    values: MultiDict[str, Any] = MultiDict(values_from_job(job))
    values["name"] = sweep.name
    values["kind"] = plan.kind.value
    values["most_at_once"] = sweep.most_at_once or ""
    if sweep.stop_on_trouble:
        values["stop_on_trouble"] = "1"
    if job.command:
        command: Sequence[str] = sweep.plan.get("command") or job.command
        values["script"], values["arguments"] = command[0], shlex.join(command[1:])
        values["values"] = "\n".join(f"{name} = {join_values(texts)}" for name, texts in plan.values.items())
        return values
    model = model_of(sweep.training)
    ticked = {variable.name for variable in model.variables if variable.choices} if model else set()
    for name, texts in plan.values.items():
        typed = [str(text) for text in texts]
        values.setlist(VARIABLE_PREFIX + name, typed if name in ticked else [join_values(typed)])
    return values


def join_values(texts: Sequence[object]) -> str:
    """Joins the texts as people type them: a text with a comma or a quote gets quotes."""
    return ", ".join(quote(str(text)) for text in texts)


def quote(text: str) -> str:
    if not re.search(r'[",\r\n]|^\s|\s$|^-?[0-9]+\.\.-?[0-9]+$', text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def make_longer(values: Mapping[str, Any], factor: int) -> dict[str, Any]:
    """Multiplies the epochs, which are a variable or an argument, by `factor` and changes the name accordingly."""
    factor = max(1, min(factor, LONGEST_FACTOR))
    longer = dict(values)
    variable = VARIABLE_PREFIX + EPOCHS
    epochs = str(values.get(variable, ""))
    if epochs.isascii() and epochs.isdigit():
        longer[variable] = str(int(epochs) * factor)
    if values.get("arguments"):
        longer["arguments"] = EPOCHS_ARGUMENT.sub(
            lambda match: f"{match[1]}{match[2]}{int(match[3]) * factor}", values["arguments"]
        )
    longer["name"] = f"{str(values.get('name', ''))[:53]}-longer"
    return longer
