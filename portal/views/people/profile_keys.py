"""The forms of the profile page that add and remove the person's SSH keys."""

from flask import Blueprint, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Refused
from cluster.domain.refusals import Refusals
from cluster.services.people import ssh_keys
from portal.i18n.translate import _
from portal.views.people.profile import render_profile
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster

blueprint = Blueprint("profile_keys", __name__)
PRIVATE = "ssh_key.private"


@blueprint.post("/profile/ssh-keys")
def add() -> ResponseReturnValue:
    refusals = Refusals()
    try:
        refusals.check(forms.require_known_fields, "key_name", "key")
        name = refusals.check(forms.text_field, "key_name") or ""
        text = refusals.check(forms.text_field, "key") or ""
        ssh_keys.add_ssh_key(current_cluster(), current_actor(), name, text, refusals)
    except Refused as refusal:
        errors = forms.error_messages(refusal)
        if "name" in errors:
            errors["key_name"] = errors.pop("name")
        values = dict(request.form)
        if any(each.code == PRIVATE for each in refusal.each):
            values.pop("key", None)  # A private key is not sent back either.
        return render_profile(errors, values), 422
    flash(_("The key is added."), "ok")
    return redirect(url_for("profile.page", _anchor="ssh-keys"), 303)


@blueprint.post("/profile/ssh-keys/<int:key_id>/remove")
def remove(key_id: int) -> ResponseReturnValue:
    ssh_keys.remove_ssh_key(current_cluster(), current_actor(), key_id)
    flash(_("The key is removed; sessions that it opened end within seconds."), "ok")
    return redirect(url_for("profile.page", _anchor="ssh-keys"), 303)
