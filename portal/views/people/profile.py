"""The profile page: password, notifications, sessions, API tokens, SSH keys, language and theme of the person."""

from flask import Blueprint, flash, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user

from cluster.domain.errors import Refused
from cluster.domain.refusals import Refusals
from cluster.domain.states import NotificationKind
from cluster.services.alerts.trial_messages import send_test_messages
from cluster.services.notifications import choices
from cluster.services.people import api_tokens, passwords, preferences, sessions
from portal.i18n.translate import _, ngettext
from portal.presenters.profile_page import read_profile_page
from portal.views.command import describe_installation
from portal.web import forms
from portal.web.request_context import current_actor, current_cluster
from portal.web.route_permissions import NotSignedIn

blueprint = Blueprint("profile", __name__)

TOKEN_DAYS = (7, 30, 90, 365)
# The order counts: Edge and Chrome also call themselves Safari.
BROWSERS = (
    ("Edg/", "Edge"),
    ("Whale/", "Whale"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
SCOPES = {"read": ("read",), "write": ("write",), "repair": ("repair",)}


@blueprint.app_template_global("browser_name")
def browser_words(agent: str) -> str:
    """Returns `Firefox · Linux` from the browser's User-Agent, or the beginning of an unknown one."""
    browser = next((word for sign, word in BROWSERS if sign in agent), "")
    system = next((word for sign, word in SYSTEMS if sign in agent), "")
    return " · ".join(part for part in (browser, system) if part) or agent[:60] or _("unknown browser")


@blueprint.get("/profile")
def page() -> ResponseReturnValue:
    return render_profile({}, {})


def render_profile(
    errors: dict[str, str], values: dict[str, str], made: tuple[str, str] | None = None
) -> str:
    """`made` is the name and the text of a new token, which is shown here and never again."""
    this_session = sessions.find_session(current_cluster(), current_user.token)
    if this_session is None:
        raise NotSignedIn
    return render_template(
        "profile/page.html",
        person=this_session.user,
        this_session=this_session,
        profile=read_profile_page(values),
        token_days=TOKEN_DAYS,
        errors=errors,
        values=values,
        made=made,
        command=describe_installation(),
    )


@blueprint.post("/profile/password")
def change_password() -> ResponseReturnValue:
    """Changes the password, which ends all other sessions and revokes all API tokens."""
    cluster, actor = current_cluster(), current_actor()
    try:
        forms.require_known_fields("username", "old", "password")
        old, new = forms.password_field("old"), forms.password_field("password")
        revoked = passwords.change_password(cluster, actor, old, new, keep_token=current_user.token)
    except Refused as refusal:
        return render_profile(forms.error_messages(refusal), {}), 422
    flash(_("The password is changed; all other sessions have ended."), "ok")
    if revoked:
        sentence = ngettext("%(num)d API token was revoked.", "%(num)d API tokens were revoked.", revoked)
        flash(f"{sentence} {_('Make new ones for what still needs them.')}", "ok")
    return redirect(url_for("profile.page"), 303)


@blueprint.post("/profile/notifications")
def set_notifications() -> ResponseReturnValue:
    """Changes the events that the person is told of, and the addresses. An empty address stops its messages."""
    try:
        forms.require_known_fields("email", "wait_hours", "webhook_url", *NotificationKind)
        choices.set_choices(
            current_cluster(),
            current_actor(),
            [kind.value for kind in NotificationKind if forms.text_field(kind)],
            forms.integer_field("wait_hours"),
            forms.text_field("webhook_url"),
            forms.text_field("email"),
        )
    except Refused as refusal:
        return render_profile(forms.error_messages(refusal), dict(request.form)), 422
    flash(_("Your notifications are kept."), "ok")
    return redirect(url_for("profile.page", _anchor="notifications"), 303)


@blueprint.post("/profile/notifications/test")
def send_test() -> ResponseReturnValue:
    """Sends a test message as all messages are sent. The page shows whether it was delivered."""
    try:
        forms.require_known_fields()
        send_test_messages(current_cluster(), current_actor())
    except Refused as refusal:
        return render_profile(forms.error_messages(refusal), {}), 422
    flash(_("A test message is on its way."), "ok")
    return redirect(url_for("profile.page", _anchor="notifications"), 303)


@blueprint.post("/profile/time-zone")
def set_time_zone() -> ResponseReturnValue:
    """Sets the zone in which pages show times. Without one, pages follow the browser."""
    try:
        forms.require_known_fields("time_zone")
        preferences.set_preferences(
            current_cluster(), current_actor(), time_zone=forms.text_field("time_zone")
        )
    except Refused as refusal:
        return render_profile(forms.error_messages(refusal), dict(request.form)), 422
    return redirect(url_for("profile.page", _anchor="time-zone"), 303)


@blueprint.post("/profile/sessions/<int:session_id>/end")
def end_session(session_id: int) -> ResponseReturnValue:
    sessions.end_session(current_cluster(), current_actor(), session_id)
    return redirect(url_for("profile.page", _anchor="sessions"), 303)


@blueprint.post("/profile/sessions/end-others")
def end_others() -> ResponseReturnValue:
    sessions.end_other_sessions(current_cluster(), current_actor(), current_user.token)
    flash(_("All other sessions have ended."), "ok")
    return redirect(url_for("profile.page", _anchor="sessions"), 303)


@blueprint.post("/profile/tokens")
def create_token() -> ResponseReturnValue:
    """Answers with the page itself, because the text of the token is shown only now."""
    refusals = Refusals()
    read = refusals.check
    try:
        read(forms.require_known_fields, "token_name", "scope", "days")
        name, days = read(forms.text_field, "token_name") or "", read(forms.integer_field, "days")
        scopes = SCOPES[read(forms.choice_field, "scope", tuple(SCOPES)) or "read"]
        token, text = api_tokens.create_api_token(
            current_cluster(), current_actor(), name, list(scopes), days, refusals
        )
    except Refused as refusal:
        errors = forms.error_messages(refusal)
        if "name" in errors:
            errors["token_name"] = errors.pop("name")
        return render_profile(errors, dict(request.form)), 422
    return make_response(render_profile({}, {}, made=(token.name, text)))


@blueprint.post("/profile/tokens/<int:token_id>/revoke")
def revoke_token(token_id: int) -> ResponseReturnValue:
    api_tokens.revoke_api_token(current_cluster(), current_actor(), token_id)
    return redirect(url_for("profile.page", _anchor="tokens"), 303)
