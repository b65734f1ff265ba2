"""Answers nginx, which asks for each request to a notebook whether it may pass and where it goes.

nginx alone reaches these addresses, from its server of notebooks; that of the portal answers 404 there. The browser has
no cookie of the portal at the notebook's address, so the notebook's own cookie identifies the person.
"""

import re

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound
from cluster.domain.notebooks.jupyter_server import base_path
from cluster.services.notebooks.entries import find_upstream, redeem_ticket
from portal.web.request_context import current_cluster

SAFE_SITES = ("same-origin", "none")
LONGEST_SECRET = 100
JOB = re.compile(r"[0-9]{1,9}")

blueprint = Blueprint("notebook_gate", __name__)


def asked_notebook() -> int:
    """Returns the job that nginx has read from the path. Raises NotFound for a request that nginx has not sent."""
    job = request.headers.get("X-Notebook", "")
    if not JOB.fullmatch(job):
        raise NotFound("notebook")
    return int(job)


def cookie_name(job_id: int) -> str:
    return f"gc_notebook_{job_id}"


@blueprint.get("/notebook-gate")
def check() -> Response:
    """204 with the upstream; 401 sends the browser to the portal, 403 ends the request."""
    job_id = asked_notebook()
    if not is_from_notebook(job_id):
        return Response(status=403)
    cookie = request.cookies.get(cookie_name(job_id), "")
    found = find_upstream(current_cluster(), job_id, cookie) if 0 < len(cookie) <= LONGEST_SECRET else None
    if found is None:
        return Response(status=401)
    headers = {"X-Notebook-Upstream": found.address, "X-Notebook-Token": found.token}
    return Response(status=204, headers=headers)


def is_from_notebook(job_id: int) -> bool:
    """Whether the browser says that no other site's page has asked, and that this is no service worker.

    A service worker would outlive the notebook and could read later visits to the same address.
    """
    if "Service-Worker" in request.headers or not has_own_name(job_id):
        return False
    if request.headers.get("Sec-Fetch-Site", "none") not in SAFE_SITES:
        return False
    origin = request.headers.get("Origin")
    return origin is None or origin == current_cluster().settings.notebooks.origin(job_id)


def has_own_name(job_id: int) -> bool:
    """Whether the name of the host, if it names a notebook, names this one."""
    return request.headers.get("X-Notebook-Host", "") in ("", str(job_id))


@blueprint.get("/notebook-gate/enter")
def enter() -> Response:
    """Sets the notebook's cookie for a ticket, and goes on from a page of the notebook's own address, because browsers
    send a strict cookie to no address that another site leads to.
    """
    job_id, settings = asked_notebook(), current_cluster().settings
    ticket = request.args.get("ticket", "")
    is_usable = 0 < len(ticket) <= LONGEST_SECRET and has_own_name(job_id)
    cookie = redeem_ticket(current_cluster(), job_id, ticket) if is_usable else None
    target = f"{base_path(job_id)}lab" if cookie else f"{settings.public_url}/jobs/{job_id}/notebook"
    page = Response(render_template("notebooks/enter.html", target=target), mimetype="text/html")
    page.headers["Referrer-Policy"] = "no-referrer"
    if cookie:
        page.set_cookie(
            cookie_name(job_id),
            cookie,
            path=base_path(job_id),
            httponly=True,
            samesite="Strict",
            secure=settings.public_url.startswith("https://"),
        )
    return page
