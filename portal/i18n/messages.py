"""Sentences, titles, hints and names of `cluster.words` in the language and time zone of the request."""

from collections.abc import Mapping
from typing import Any

from flask import Flask
from markupsafe import Markup

from cluster import words
from cluster.domain.errors import GroundcrewError
from portal.i18n.translate import _, installation_zone, now, request_language


def N_(message: str) -> str:
    """Marks a message for the translators where it is written; it is translated where it is shown."""
    return message


WAITING_LABELS = {
    "waiting.not_enough_units": N_("Too few units free"),
    "waiting.nodes_too_small": N_("No node fits"),
    "waiting.quota_used": N_("Quota used up"),
    "waiting.ahead_in_queue": N_("Behind their own"),
    "waiting.held_for_another": N_("Kept for another"),
    "waiting.workspace_not_started": N_("Workspace not begun"),
    "waiting.workspace_expired": N_("Workspace ended"),
    "waiting.environment_not_ready": N_("Environment being built"),
    "waiting.environment_failed": N_("Environment failed"),
    "waiting.no_gpu_environment": N_("No environment for GPUs"),
    "waiting.dataset_not_ready": N_("Dataset being made"),
    "waiting.dataset_failed": N_("Dataset failed"),
    "waiting.node_unreachable": N_("Node unreachable"),
    "waiting.no_executor": N_("No executor"),
    "waiting.no_nodes": N_("No node yet"),
    "waiting.sweep_limit": N_("Limit of its sweep"),
    "waiting.on_hold": N_("Held"),
    "waiting.tried_later": N_("Tried again later"),
    "waiting.node_draining": N_("Node being drained"),
    "waiting.node_lost": N_("Node lost"),
    "waiting.node_kept_out": N_("Not in Kubernetes"),
}
"""Reasons to wait as labels: the sentences stand in `cluster.words`."""


def init_app(app: Flask) -> None:
    app.jinja_env.globals.update(
        sentence_for=localized_sentence,
        title_for=localized_title,
        hint_for=localized_hint,
        word_for=localized_word,
        operation_word=localized_operation,
        step_word=localized_step,
        action_word=localized_action,
        Markup=Markup,
    )


def localized_sentence(code: str, data: Mapping[str, Any] | None = None) -> str:
    """The whole sentence for a code of the domain."""
    return words.sentence(code, data, request_language(), installation_zone(), now())


def localized_error(error: GroundcrewError) -> str:
    return localized_sentence(error.code, error.data)


def localized_title(code: str) -> str:
    """A short heading for an error or an end."""
    return words.title(code, request_language())


def localized_hint(code: str, data: Mapping[str, Any] | None = None) -> str:
    """What to do next; may be empty."""
    return words.hint(code, data, request_language())


def localized_word(group: str, value: object) -> str:
    """`word_for("state.job", job.state.value)`."""
    return words.word(group, value, request_language())


def localized_operation(kind: str) -> str:
    return words.operation_name(kind, request_language())


def localized_step(code: str) -> str:
    return words.step_name(code, request_language())


def waiting_label(code: str) -> str:
    return _(WAITING_LABELS.get(code, N_("Another reason")))


def localized_action(code: str) -> str:
    """What a line of history or audit says was done."""
    return words.action_name(code, request_language())
