"""Invites many people at once: a list is pasted or uploaded, checked line by line, and then invited."""

from typing import NamedTuple

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Refused
from cluster.domain.people.person_lists import FIELD, MOST_PEOPLE, PersonLine, parse_person_list
from cluster.services.alerts.outbox import request_delivery
from cluster.services.people.users import service_actor
from cluster.services.workspaces.invitations import is_mailed
from cluster.services.workspaces.person_lists import CheckedPerson, check_people, invite_people
from portal.i18n.messages import localized_error
from portal.web import forms, uploads
from portal.web.request_context import current_actor, current_cluster

MOST_BYTES = 100_000
ENCODINGS = ("utf-8-sig", "cp949")
"""The encodings of CSV files. Korean spreadsheets use the second one."""
THEN = ("check", "invite")

blueprint = Blueprint("user_import", __name__)


class CheckedRow(NamedTuple):
    """A line with the sentences that refuse it."""

    line: PersonLine
    faults: tuple[str, ...]


@blueprint.get("/users/import")
def form() -> str:
    return render_form("", [], {})


def render_form(text: str, checked: list[CheckedPerson], errors: dict[str, str]) -> str:
    return render_template(
        "users/import.html",
        text=text,
        errors=errors,
        rows=[CheckedRow(person.line, tuple(map(localized_error, person.refusals))) for person in checked],
        faulty=sum(bool(person.refusals) for person in checked),
        most=MOST_PEOPLE,
    )


@blueprint.post("/users/import")
def submit() -> ResponseReturnValue:
    """`then` says whether the list is only checked. It is invited if no line is refused."""
    cluster, actor = current_cluster(), current_actor()
    text = request.form.get(FIELD, "")
    try:
        forms.require_known_fields(FIELD, "then")
        text = read_list()
        then, lines = forms.choice_field("then", THEN), parse_person_list(text)
    except Refused as refusal:
        return render_form(text, [], forms.error_messages(refusal)), 422
    checked = check_people(cluster, actor, lines)
    is_refused = any(person.refusals for person in checked)
    if is_refused or then == "check":
        return render_form(text, checked, {}), 422 if is_refused else 200
    return render_invited(lines)


def read_list() -> str:
    """Returns the uploaded file if there is one, else the pasted text. Raises Refused."""
    sent = request.files.get("file")
    if sent is None or not sent.filename:
        return forms.text_field(FIELD)
    text = uploads.read_text(sent, MOST_BYTES, ENCODINGS)
    if text is None:
        raise Refused(FIELD, "user.list_not_text", most=MOST_BYTES)
    return forms.reject_control_characters(FIELD, text)


def render_invited(lines: list[PersonLine]) -> str:
    """Shows the links once, because the answer is stored nowhere."""
    cluster = current_cluster()
    invited = invite_people(cluster, current_actor(), lines)
    mailed = [person.line.name for person in invited if person.user and is_mailed(cluster, person.user)]
    if mailed:
        request_delivery(cluster, service_actor(cluster))
    host = request.host_url.rstrip("/")
    return render_template(
        "users/invited.html",
        links=[
            (person.line.name, host + url_for("links.form", token=person.secret))
            for person in invited
            if person.user
        ],
        left_out=[person.line.name for person in invited if person.user is None],
        mailed=mailed,
    )
