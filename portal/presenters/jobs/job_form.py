"""Parses the form of a new job into a JobRequest or SweepRequest, and fills the form from a training or from a job."""

import shlex
from collections.abc import Mapping
from typing import Any

from flask import request

from cluster.domain.built_in_models import BUILT_IN_MODELS, BuiltInModel
from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import DEFAULT_ENVIRONMENT_ID, JobRequest, split_command
from cluster.domain.refusals import Refusals
from cluster.domain.states import Launcher, TrainingKind
from cluster.domain.sweeps.plan import PARAMETER, SweepKind, SweepRequest, split_values
from cluster.services.sweeps.sweep_checks import require_valid_submission
from cluster.store.jobs import Job
from cluster.store.trainings import Training
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster

VARIABLE_PREFIX = "variables."
LAUNCHERS = tuple(launcher.value for launcher in Launcher)
SWEEP_FIELDS = ("kind", "most_at_once", "stop_on_trouble")
WHEN_FIELDS = ("priority", "time_limit", "grace", "retries", "memory")
PLAIN_FIELDS = ("check", "name", "dataset", "environment", "units", *WHEN_FIELDS, *SWEEP_FIELDS)
OWN_CODE_FIELDS = (
    *PLAIN_FIELDS,
    "code_version",
    "script",
    "other_command",
    "arguments",
    "launcher",
    "values",
)
SWEEP_KINDS = tuple(kind.value for kind in SweepKind)
DEFAULT_REQUEST = JobRequest("", 1)
"""The values of the fields before anybody changes them."""
FORM_FIELD = {
    "time_limit_seconds": "time_limit",
    "grace_seconds": "grace",
    "dataset_id": "dataset",
    "memory_bytes": "memory",
}


def model_of(training: Training) -> BuiltInModel | None:
    return BUILT_IN_MODELS.get(training.model or "")


def read_request(training: Training) -> JobRequest | SweepRequest:
    """Reads the request from the form. Raises Refused if a field has not even the right shape; the refusal then also
    names the faults that the service finds in the other fields.
    """
    refusals = Refusals()
    requested = read_job_fields(training, refusals)
    if refusals.by_field:
        refusals.check(require_valid_submission, current_cluster(), current_actor(), training.id, requested)
        refusals.raise_all()
    return requested


def read_job_fields(training: Training, refusals: Refusals) -> JobRequest | SweepRequest:
    """Returns a sweep if any field has several values, else a job. A field that cannot be parsed is added to
    `refusals` under the form's name, and the default takes its place.
    """
    is_own_code = training.kind is not TrainingKind.BUILT_IN
    # The domain refuses variables that the training does not have.
    variables = [name for name in request.form if name.startswith(VARIABLE_PREFIX)]
    read = refusals.check
    read(forms.require_known_fields, *(OWN_CODE_FIELDS if is_own_code else PLAIN_FIELDS), *variables)
    values = read_form_variables(refusals)
    swept = (
        read(parse_swept_values, read(forms.text_field, "values") or "") or {}
        if is_own_code
        else {name: texts for name, texts in values.items() if len(texts) > 1}
    )
    launcher = read(forms.choice_field, "launcher", LAUNCHERS) if is_own_code else Launcher.HOROVOD
    units, grace = read(forms.integer_field, "units"), read(forms.duration_field, "grace", "s")
    priority, retries = (
        read(forms.optional_integer_field, "priority"),
        read(forms.optional_integer_field, "retries"),
    )
    job = JobRequest(
        name=read(forms.text_field, "name") or "",
        units=1 if units is None else units,
        launcher=Launcher(launcher or Launcher.HOROVOD),
        command=(read(read_command) or ()) if is_own_code else (),
        variables={name: "".join(texts) for name, texts in values.items() if name not in swept},
        dataset_id=read(forms.id_field, "dataset"),
        priority=priority or 0,
        time_limit_seconds=read(forms.duration_field, "time_limit", "m"),
        grace_seconds=DEFAULT_REQUEST.grace_seconds if grace is None else grace,
        retries=retries or 0,
        memory_bytes=read(forms.size_field, "memory"),
        code_version=read(forms.id_field, "code_version") if is_own_code else None,
        environment_id=read(forms.id_field, "environment"),
    )
    if not swept:
        return job
    kind = read(forms.choice_field, "kind", SWEEP_KINDS) if request.form.get("kind") else None
    return SweepRequest(
        job,
        swept,
        SweepKind(kind or SweepKind.GRID),
        read(forms.optional_integer_field, "most_at_once"),
        bool(read(forms.text_field, "stop_on_trouble")),
    )


def read_command() -> tuple[str, ...]:
    """Returns the script as one word, even if it has spaces, and the arguments, split by a shell's quoting rules."""
    arguments = forms.text_field("arguments")
    script = forms.text_field("script") or forms.text_field("other_command")
    return (script, *split_command(arguments)) if script else ()


def read_form_variables(refusals: Refusals) -> dict[str, tuple[str, ...]]:
    """Returns variable → values. Ticked boxes come as one field each, numbers as one text with commas or lines."""
    names = [name.removeprefix(VARIABLE_PREFIX) for name in request.form if name.startswith(VARIABLE_PREFIX)]
    values = {name: refusals.check(read_variable, name) for name in names}
    return {name: texts for name, texts in values.items() if texts is not None}


def count_variable_values() -> dict[str, int]:
    """Field of the form → how many values it has, for the variables whose values can be read."""
    return {
        VARIABLE_PREFIX + name: len(texts) for name, texts in read_form_variables(Refusals()).items() if texts
    }


def read_variable(name: str) -> tuple[str, ...]:
    return split_values(name, "\n".join(forms.text_fields(VARIABLE_PREFIX + name)))


def parse_swept_values(text: str) -> dict[str, tuple[str, ...]]:
    """Parses lines as `lr = 0.1, 0.01`. A line without a name continues the one before. Raises Refused."""
    texts: dict[str, str] = {}
    name = ""
    for line in filter(str.strip, text.splitlines()):
        head, sign, rest = line.partition("=")
        if sign and PARAMETER.fullmatch(head.strip()):
            name, line = head.strip(), rest
        elif not name:
            raise Refused("values", "sweep.bad_line", line=line.strip()[:60])
        texts[name] = texts.get(name, "") + line + "\n"
    return {name: split_values(name, values) for name, values in texts.items()}


def form_field_of(refusal: Refused) -> str:
    """The form's name of the field that the domain refused."""
    if refusal.field.startswith("values."):
        return (
            "values" if "values" in request.form else VARIABLE_PREFIX + refusal.field.removeprefix("values.")
        )
    if refusal.field == "command":
        is_script = refusal.code == "job.command_missing" or refusal.code.startswith("job.script_")
        return script_field() if is_script else "arguments"
    return FORM_FIELD.get(refusal.field, refusal.field)


def script_field() -> str:
    """The field whose word the job would run: that of the command if no file of the code was chosen."""
    return (
        "other_command" if request.form.get("other_command") and not request.form.get("script") else "script"
    )


def default_values(training: Training) -> dict[str, Any]:
    """The values of an empty form."""
    model = model_of(training)
    defaults = (
        {VARIABLE_PREFIX + variable.name: str(variable.default) for variable in model.variables}
        if model
        else {}
    )
    usual = {
        "name": training.name,
        "units": 1,
        "launcher": Launcher.HOROVOD.value,
        "environment": training.environment_id or DEFAULT_ENVIRONMENT_ID,
        "priority": DEFAULT_REQUEST.priority,
        "grace": forms.format_duration_field(DEFAULT_REQUEST.grace_seconds),
        "retries": DEFAULT_REQUEST.retries,
        "kind": SweepKind.GRID.value,
    }
    return usual | defaults


def values_from_job(job: Job) -> dict[str, Any]:
    """Returns the form's values for a duplicate of the job."""
    variables: Mapping[str, Any] = job.variables
    return {
        "name": job.name,
        "dataset": job.dataset_id or "",
        "units": job.units,
        "launcher": job.launcher.value,
        "environment": job.environment_id or DEFAULT_ENVIRONMENT_ID,
        "code_version": job.code_version or "",
        "script": job.command[0] if job.command else "",
        "arguments": shlex.join(job.command[1:]),
        "priority": job.priority,
        "time_limit": forms.format_duration_field(job.time_limit_seconds),
        "grace": forms.format_duration_field(job.grace_seconds),
        "retries": job.retries,
        "memory": forms.format_size_field(job.memory_bytes),
    } | {VARIABLE_PREFIX + name: str(value) for name, value in variables.items()}
