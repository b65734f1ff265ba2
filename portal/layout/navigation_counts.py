"""The counts beside entries of the navigation: in a page, and with each fragment that a page fetches."""

import json

from flask import Response, g, request

from cluster.domain.states import JobState
from cluster.services.jobs import state_counts
from cluster.words import format_capped_count
from portal.web.request_context import is_fragment_request, read_recently

COUNTS_HEADER = "Groundcrew-Counts"
COUNTED_PATHS = ("/queue", "/jobs")
"""The entries of the navigation with a count beside them: jobs that wait, and jobs that run."""


def navigation_counts() -> dict[str, int]:
    """Path → the number of waiting or running jobs that the person may see. A count of zero is left out."""
    live_jobs = read_recently(state_counts.count_live_jobs)
    running = sum(number for state, number in live_jobs.items() if state != JobState.WAITING)
    counts = dict(zip(COUNTED_PATHS, (live_jobs.get(JobState.WAITING, 0), running), strict=True))
    return {path: number for path, number in counts.items() if number}


def add_counts(response: Response) -> Response:
    """Sends the counts of the navigation with a fragment, because the navigation around it stays as it is: page.js
    writes them there. A count of zero is empty.
    """
    if is_fragment_request() and response.status_code == 200 and "actor" in g and request.method == "GET":
        counts = navigation_counts()
        told = {path: format_capped_count(counts[path]) if path in counts else "" for path in COUNTED_PATHS}
        response.headers[COUNTS_HEADER] = json.dumps(told)
    return response
