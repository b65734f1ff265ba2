"""The results of a search as groups of links."""

from dataclasses import dataclass
from typing import Any

from flask import url_for

from cluster.domain.states import JobState
from cluster.services.search import MOST_OF_A_KIND, SearchHit, SearchResults
from portal.i18n.translate import _


@dataclass(frozen=True)
class ShownHit:
    """One hit. `number` is the name of a row as in "job-12"; it is empty if the object's own name is enough."""

    href: str
    name: str
    number: str
    place: str
    job_state: JobState | None


@dataclass(frozen=True)
class HitGroup:
    """The hits of one kind. `all_href` leads to the list of the kind if there may be more hits than are shown."""

    icon: str
    title: str
    hits: tuple[ShownHit, ...]
    all_href: str


def group_hits(results: SearchResults, is_administrator: bool) -> list[HitGroup]:
    """Groups the hits by kind. Only administrators have pages of people; others see the jobs of a person."""
    person = ("users.page", "user_id") if is_administrator else ("jobs.index", "user")
    groups = (
        ("player-play", _("Jobs"), results.jobs, "jobs.page", "job_id", "jobs.index"),
        ("school", _("Trainings"), results.trainings, "trainings.page", "training_id", "trainings.overall"),
        ("database", _("Datasets"), results.datasets, "datasets.page", "dataset_id", "datasets.overall"),
        (
            "briefcase",
            _("Workspaces"),
            results.workspaces,
            "workspaces.home",
            "workspace_id",
            "workspaces.index",
        ),
        (
            "box",
            _("Environments"),
            results.environments,
            "environments.page",
            "environment_id",
            "environments.index",
        ),
        ("server-2", _("Nodes"), results.nodes, "nodes.page", "node_id", "nodes.index"),
        ("users", _("Users"), results.people, *person, "users.index" if is_administrator else ""),
    )
    return [
        HitGroup(
            icon,
            title,
            tuple(shown_hit(hit, endpoint, argument) for hit in hits),
            url_for(listing) if listing and len(hits) == MOST_OF_A_KIND else "",
        )
        for icon, title, hits, endpoint, argument, listing in groups
        if hits
    ]


def shown_hit(hit: SearchHit, endpoint: str, argument: str) -> ShownHit:
    number = f"job-{hit.id}" if hit.job_state is not None else ""
    values: dict[str, Any] = {argument: hit.id}
    return ShownHit(url_for(endpoint, **values), hit.name, number, hit.place, hit.job_state)
