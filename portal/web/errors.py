"""The one error handler: it answers every exception with a page, an htmx fragment or problem+json in the reader's
language."""

from collections.abc import Sequence

import structlog
from flask import Flask, Response, g, jsonify, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import InterfaceError, OperationalError, TimeoutError
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from cluster.domain.errors import Conflict, Forbidden, Gone, GroundcrewError, NotFound, Refused, Unavailable
from cluster.services.storage import ballast, disk_space
from cluster.store.sql.disk_full import DISK_FULL_ERRNOS, is_disk_full
from portal import after_sign_in
from portal.i18n.messages import localized_error, localized_hint, localized_sentence, localized_title
from portal.web.csrf import CsrfTokenInvalid
from portal.web.request_context import (
    current_cluster,
    current_request_id,
    is_api_request,
    is_fragment_request,
)
from portal.web.route_permissions import SAFE_METHODS, NotSignedIn
from portal.web.validation_errors import list_validation_errors

log = structlog.get_logger()

STATUS = {
    NotSignedIn: 401,
    NotFound: 404,
    Forbidden: 403,
    Conflict: 409,
    Gone: 410,
    Refused: 422,
    Unavailable: 503,
}
RETRY_AFTER_SECONDS = 5
FORM_TOO_OLD = "Groundcrew-Form-Too-Old"
"""The header of a refused form whose page was made for another session: a script may repeat it with a new token."""
STATUS_WITH_WORDS = frozenset(
    {400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 414, 415, 416, 422, 428, 429, 500, 503}
)


def init_app(app: Flask) -> None:
    app.register_error_handler(Exception, handle_error)


def handle_error(error: Exception) -> ResponseReturnValue:
    """Answers known states of the world with their status. Everything else is a bug of ours, which is logged whole and
    shown as an id.
    """
    if isinstance(error, NotSignedIn) and not is_api_request():
        return ask_to_sign_in()
    if isinstance(error, GroundcrewError):
        status = next((number for kind, number in STATUS.items() if isinstance(error, kind)), 500)
        if status < 500 or isinstance(error, Unavailable):
            if isinstance(error, NotFound):
                g.not_found = error
            refusals = error.each if isinstance(error, Refused) else ()
            return problem_response(status, error.code, error.data, refusals)
    if isinstance(error, CsrfTokenInvalid):
        response = problem_response(400, "http.form_too_old", {})
        response.headers[FORM_TOO_OLD] = "1"
        return response
    if isinstance(error, HTTPException) and error.code is not None:
        if error.code < 400:
            return error.get_response()
        status = error.code if error.code in STATUS_WITH_WORDS else 400
        if status < 500:
            data: dict[str, object] = {"limit": request.max_content_length} if status == 413 else {}
            response = problem_response(status, f"http.{status}", data, shapes=list_validation_errors(error))
            if isinstance(error, MethodNotAllowed) and error.valid_methods:
                response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
            return response
    if isinstance(error, OperationalError | InterfaceError | TimeoutError):
        if is_disk_full(error, current_cluster().settings.database_url):
            return respond_disk_full(error)
        log.error("the database does not answer", error=str(error), route=str(request.url_rule))
        return respond_database_unavailable()
    if isinstance(error, OSError) and error.errno in DISK_FULL_ERRNOS:
        storage = disk_space.read_storage_disk(current_cluster().settings)
        log.error("the disk is full", error=str(error), route=str(request.url_rule), **storage)
        return problem_response(503, "disk.short", storage)
    log.error("bug", exc_info=error, route=str(request.url_rule))
    # The page about a bug reads no rows, because the database may be the cause.
    g.is_bug = True
    return problem_response(500, "http.500", {})


def respond_disk_full(error: Exception) -> Response:
    """Handles a full disk of the database: it releases the space that is reserved for this case, and the page names the
    disk.
    """
    settings = current_cluster().settings
    disk = disk_space.read_database_disk(settings)
    log.error("the disk is full", error=str(error), route=str(request.url_rule), **disk)
    ballast.release_ballast(settings)
    return respond_database_unavailable("disk.database_full", disk)


def respond_database_unavailable(code: str = "http.503", data: dict[str, object] | None = None) -> Response:
    """Answers 503. A repeated request is safe, because either nothing or everything was written."""
    g.is_bug = True  # This page must not read rows either.
    return problem_response(503, code, data or {})


def ask_to_sign_in() -> ResponseReturnValue:
    """Sends a person to the sign-in page without losing what was typed: a page's script signs in beside the form, and
    the sign-in page keeps a form that was sent without the script.
    """
    if request.headers.get("Accept") == "text/event-stream":
        return Response(status=401)
    is_page = request.method in SAFE_METHODS and not is_fragment_request()
    back = request.full_path.rstrip("?") if is_page else after_sign_in.form_page()
    address = url_for("sign_in.sign_in", next=back if back != "/" else None)
    if is_fragment_request():
        # A fragment must never receive the sign-in page: without the script, htmx loads that page whole.
        return make_response("", 401, {"HX-Redirect": address})
    kept = after_sign_in.keep_sent_form()
    if kept is None:
        return redirect(address)
    values = {"next": back}
    return make_response(render_template("sign_in/page.html", values=values, errors={}, kept=kept), 401)


def problem_response(
    status: int,
    code: str,
    data: dict[str, object],
    refusals: Sequence[Refused] = (),
    shapes: Sequence[dict[str, str]] = (),
) -> Response:
    """Answers with HTML for pages, a fragment for htmx, and RFC 9457 for REST. `refusals` name the refused fields,
    `shapes` the fields of a wrong shape.
    """
    sentence = localized_sentence(code, data)
    if is_api_request():
        body: dict[str, object] = {
            "type": f"/problems/{code}",
            "title": localized_title(code),
            "status": status,
            "detail": sentence,
            "code": code,
            "request_id": current_request_id(),
        }
        if named := [refusal for refusal in refusals if refusal.field]:
            body["errors"] = [describe_refusal(refusal) for refusal in named]
        elif shapes:
            body["errors"] = list(shapes)
        response = jsonify(body)
        response.content_type = "application/problem+json"
        if status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
    else:
        page = "errors/_fragment.html" if is_fragment_request() else "errors/page.html"
        response = make_response(
            render_template(
                page,
                status=status,
                title=localized_title(code),
                sentence=sentence,
                hint=localized_hint(code, data),
                request_id=current_request_id(),
            )
        )
    response.status_code = status
    if status in (429, 503):
        response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def describe_refusal(refusal: Refused) -> dict[str, str]:
    """A refused field as REST names it, by JSON pointer."""
    return {
        "pointer": "/" + refusal.field.replace(".", "/"),
        "code": refusal.code,
        "message": localized_error(refusal),
    }
