"""The howto to which the "?" of each page leads."""

from flask import request, url_for

TOPICS = {
    "dashboard": "first-training",
    "queue": "queue",
    "nodes": "nodes",
    "search": "first-training",
    "workspaces": "workspaces",
    "workspace_storage": "workspaces",
    "trainings": "first-training",
    "training_changes": "first-training",
    "training_code": "code",
    "code_editor": "code",
    "git_source": "code-from-git",
    "notebooks": "notebooks",
    "jobs": "jobs",
    "runs": "runs",
    "attention": "failed-jobs",
    "job_checkpoints": "jobs",
    "job_files": "jobs",
    "job_log": "jobs",
    "job_metrics": "jobs",
    "job_new": "jobs",
    "sweeps": "sweeps",
    "sweep_list": "sweeps",
    "datasets": "datasets",
    "dataset_files": "datasets",
    "environments": "environments",
    "wheels": "environments",
    "operations": "nodes",
    "repairs": "repairs",
    "backups": "backups",
    "users": "people",
    "user_import": "people",
    "profile": "people",
    "profile_keys": "ssh",
    "access_log": "access-log",
    "accounting": "accounting",
    "rest_reference": "command-and-rest",
}
"""Howto by blueprint: one for all its pages. Help itself and pages before sign-in have none."""


def help_url() -> str | None:
    """The address of the current page's howto; None if it has none."""
    topic = TOPICS.get(request.blueprint or "")
    return url_for("help.page", howto=topic) if topic else None
