"""The page that finds things by the beginning of their names."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.search import parse_search_query
from cluster.services.search import search
from portal.presenters.guidance.search_results import group_hits
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("search", __name__)


@blueprint.get("/search")
def page() -> ResponseReturnValue:
    """Searches for `?q=`. The number of a job (`job-12`, `12`) leads to that job if nothing else has this name."""
    query = parse_search_query(forms.reject_control_characters("q", request.args.get("q", "")))
    actor = current_actor()
    results = search(current_cluster(), actor, query)
    if query.job_number is not None and [hit.id for hit in results.all_hits] == [query.job_number]:
        return redirect(url_for("jobs.page", job_id=query.job_number))
    return render_template(
        "search/page.html", query=query.text, groups=group_hits(results, actor.is_administrator)
    )
