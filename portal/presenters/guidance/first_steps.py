"""The steps from an empty installation, or a first sign-in, to the first job, and the button of the next one."""

from collections.abc import Sequence
from dataclasses import dataclass

from flask import url_for
from markupsafe import Markup

from cluster.domain.states import TrainingKind
from cluster.services.first_steps import (
    InstallationSteps,
    ResearcherSteps,
    read_installation_steps,
    read_researcher_steps,
)
from cluster.services.jobs.queries import JobLine
from cluster.services.workspaces.queries import WorkspaceSummary
from portal.i18n.translate import _, template_gettext, time_of_short
from portal.web.request_context import current_actor, current_cluster

MOST_WORKSPACES_OF_A_NEW_INSTALLATION = 2
"""A new installation has the workspace of the first training, and the first one that people make."""


@dataclass(frozen=True)
class FirstStep:
    """One step. `detail` says what is there already; `is_next` is set for the first step that is not done."""

    title: str
    detail: str
    is_done: bool
    href: str
    label: str
    is_next: bool = False


def list_first_steps(
    workspaces: Sequence[WorkspaceSummary], active: Sequence[WorkspaceSummary], own_jobs: Sequence[JobLine]
) -> list[FirstStep]:
    """Returns nothing, and reads nothing, for a person who has begun. `active` are workspaces that have not ended."""
    cluster, actor = current_cluster(), current_actor()
    if actor.is_administrator:
        if len(workspaces) > MOST_WORKSPACES_OF_A_NEW_INSTALLATION:
            return []
        steps = read_installation_steps(cluster, actor)
        return [] if steps.are_done else mark_next(installation_steps(steps))
    if own_jobs or not active:
        return []
    ids = [workspace.id for workspace in active]
    return mark_next(researcher_steps(read_researcher_steps(cluster, actor, ids)))


def installation_steps(steps: InstallationSteps) -> list[FirstStep]:
    return [
        FirstStep(
            _("Make a workspace"),
            _("It says who may use how many units until when."),
            steps.has_workspace,
            url_for("workspaces.new"),
            _("New workspace"),
        ),
        FirstStep(
            _("Add the people"),
            _("Each gets a link to choose a password. Tick the workspaces that they may use."),
            steps.has_people,
            url_for("users.new"),
            _("Add a person"),
        ),
        check_step(steps),
    ]


def check_step(steps: InstallationSteps) -> FirstStep:
    """Any job that has finished shows that the machine trains. Backups are made by themselves; people only look."""
    job, at = steps.finished_job, steps.verified_backup_at
    trained = (
        _("job-%(id)s has finished: this machine trains.", id=job)
        if job is not None
        else _("No job has finished here yet.")
    )
    saved = (
        template_gettext("The backup of %(time)s was read back and compared.", time=time_of_short(at))
        if at is not None
        else _("No backup is proven yet; one is made each night.")
    )
    is_next_backup = job is not None
    return FirstStep(
        _("Check the first training and backup"),
        Markup("{} {}").format(trained, saved),
        job is not None and at is not None,
        url_for("backups.page") if is_next_backup else url_for("operations.index"),
        _("See backups") if is_next_backup else _("See operations"),
    )


def researcher_steps(steps: ResearcherSteps) -> list[FirstStep]:
    return [
        FirstStep(
            _("Add a dataset"),
            _("A zip with one folder per class, or the sample digits to try it."),
            steps.dataset_id is not None,
            url_for("datasets.new", workspace_id=steps.workspace_id),
            _("Add a dataset"),
        ),
        FirstStep(
            _("Make a training"),
            template_gettext(
                "A built-in model such as LeNet, or %(own_code)s.",
                own_code=own_code_link(steps.workspace_id),
            ),
            steps.training_id is not None,
            url_for("trainings.new", workspace_id=steps.workspace_id),
            _("New training"),
        ),
        FirstStep(
            _("Start a job"),
            _("It runs as soon as units are free, and draws its curves while it runs."),
            False,
            url_for("job_new.new", training_id=steps.training_id)
            if steps.training_id
            else url_for("workspaces.home", workspace_id=steps.workspace_id),
            _("New job"),
        ),
    ]


def own_code_link(workspace_id: int) -> Markup:
    href = url_for("trainings.new", workspace_id=workspace_id, kind=TrainingKind.ADVANCED.value)
    return Markup('<a href="{}">{}</a>').format(href, _("your own code"))


def mark_next(steps: Sequence[FirstStep]) -> list[FirstStep]:
    """Marks the first step that is not done, which has the button of the page."""
    first = next((step for step in steps if not step.is_done), None)
    return [
        FirstStep(step.title, step.detail, step.is_done, step.href, step.label, step is first)
        for step in steps
    ]


def newest_active_job(own_jobs: Sequence[JobLine], active: Sequence[WorkspaceSummary]) -> JobLine | None:
    """The person's newest job in a workspace that has not ended. The next step begins at its training."""
    ids = {workspace.id for workspace in active}
    return next((job for job in own_jobs if job.workspace_id in ids), None)


def happened(sentence: str, href: str, label: str) -> Markup:
    """The message for `flash`: the object that was created, and a link to the next step."""
    return Markup('{} {} <a href="{}">{}</a>').format(sentence, _("Next:"), href, label)
