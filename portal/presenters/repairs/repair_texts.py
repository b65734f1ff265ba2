"""Template globals about repairs: titles, verdicts, requesters and checks in the reader's language."""

from typing import Any

from flask import Flask
from markupsafe import Markup

from cluster.domain.repairs.definition import BilingualText
from cluster.domain.repairs.run_matrix import RepairVerdict
from cluster.domain.states import OperationState
from cluster.services.repairs.repair_preview import RepairPreview
from cluster.store.repairs import RepairRun
from portal.i18n.messages import localized_sentence, localized_word
from portal.i18n.translate import _, request_language
from portal.presenters.repairs.repair_links import read_catalogue_for
from portal.web.request_context import read_once

STATE_OF_VERDICT = {
    RepairVerdict.VERIFIED: "verified",
    RepairVerdict.NOT_VERIFIED: "failed",
    RepairVerdict.CANCELLED: "stopped",
    RepairVerdict.BROKEN: "failed",
    RepairVerdict.DRY_RUN: "finished",
}


def init_app(app: Flask) -> None:
    for text in (localized_text, run_state, requester_text, repair_title, check_sentence):
        app.add_template_global(text)


def localized_text(text: BilingualText) -> str:
    """A text of the catalogue in the reader's language."""
    return text.in_language(request_language())


def run_state(run: RepairRun) -> dict[str, str]:
    if run.verdict is not None:
        return {"kind": STATE_OF_VERDICT[run.verdict], "word": localized_word("verdict", run.verdict)}
    if run.operation is not None and run.operation.state is OperationState.INTERRUPTED:
        return {"kind": "interrupted", "word": localized_word("state.operation", OperationState.INTERRUPTED)}
    return {"kind": "running", "word": localized_word("state.operation", OperationState.RUNNING)}


def requester_text(run: RepairRun) -> str:
    return _("%(user)s, at the console", user=run.console_user) if run.console_user else run.requester.name


def repair_title(name: str) -> str:
    """The title of a repair; its stem if the catalogue no longer has it."""
    entry = read_once(read_catalogue_for).get(name)
    return localized_text(entry.repair.title) if entry else name


def check_sentence(answer: dict[str, Any]) -> Markup | str:
    return localized_sentence(str(answer["code"]), answer.get("data") or {})


def forecast_steps(preview: RepairPreview) -> list[dict[str, Any]]:
    """The playbook's own tasks with the seconds that each took in the last run."""
    last = {task["name"]: task.get("seconds") for run in preview.last_runs[:1] for task in run.tasks}
    return [{"word": localized_text(task), "seconds": last.get(task.en)} for task in preview.repair.tasks]
