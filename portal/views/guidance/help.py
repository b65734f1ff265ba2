"""Help: the howtos as pages, and the search in them."""

from flask import Blueprint, abort, render_template, request
from flask.typing import ResponseReturnValue

from portal.presenters.guidance.help_pages import (
    FIRST_HOUR,
    OF_ADMINISTRATORS,
    help_names,
    read_help_page,
    search_help,
)
from portal.web import forms

blueprint = Blueprint("help", __name__)

LONGEST_SEARCH = 60


@blueprint.get("/help")
def index() -> ResponseReturnValue:
    """The list of howtos; `?q=` searches them."""
    typed = forms.reject_control_characters("q", request.args.get("q", ""))[:LONGEST_SEARCH].strip()
    return render_template(
        "help/index.html",
        query=typed,
        hits=search_help(typed),
        first=[read_help_page(name) for name in FIRST_HOUR],
        further=[
            read_help_page(name) for name in help_names() if name not in (*FIRST_HOUR, *OF_ADMINISTRATORS)
        ],
        administration=[read_help_page(name) for name in OF_ADMINISTRATORS],
    )


@blueprint.get("/help/<howto>")
def page(howto: str) -> ResponseReturnValue:
    if howto not in help_names():
        abort(404)
    return render_template("help/page.html", shown=read_help_page(howto))
