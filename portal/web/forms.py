"""Parses form fields into text, integers, dates and ids. The domain decides which values are allowed.

A view that offers a form reads the fields and calls the service in one `try`; at `except Refused as refusal`
it renders the page again with `values=request.form, errors=error_messages(refusal)` and status 422. A form of several
fields reads them by `Refusals.check` and hands the refusals to the service, which adds its own and raises all at once.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any
from urllib.parse import urlencode

from flask import request, url_for
from markupsafe import Markup
from werkzeug.datastructures import MultiDict

from cluster.domain.errors import GroundcrewError, Refused
from cluster.domain.jobs.memory import format_exact_size, parse_size
from cluster.store.base import LARGEST_ID
from portal.i18n.messages import localized_error
from portal.i18n.translate import _
from portal.web.request_context import current_cluster

LONGEST_TEXT = 100_000
MAX_DIGITS = 12
MAX_SIZE_DIGITS = 18
LONGEST_LINK = 4_000
"""The most characters of a link that fills a form. A longer one might not pass through every proxy."""
DURATION = re.compile(r"([0-9]{1,7})\s*(s|m|h|d|)")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
ALWAYS = frozenset({"csrf_token"})


def require_known_fields(*names: str) -> None:
    """Refuses a form that brings an unknown field, so that a mistyped name is noticed."""
    unknown = sorted(set(request.form) - set(names) - ALWAYS)
    if unknown:
        raise Refused(unknown[0][:60], "value.unknown_field", name=unknown[0][:60])


def text_field(name: str, default: str = "") -> str:
    """Returns the text without the blanks around it. Control characters other than line ends and tabs are refused."""
    return reject_control_characters(name, request.form.get(name, default))


def reject_control_characters(name: str, value: str) -> str:
    if len(value) > LONGEST_TEXT:
        raise Refused(name, "value.too_long", longest=LONGEST_TEXT)
    if any(ord(sign) < 32 and sign not in "\r\n\t" for sign in value):
        raise Refused(name, "value.control_character")
    return value.strip()


def text_fields(name: str) -> list[str]:
    """Returns all values of a field that may occur several times, as boxes do; each is read like a `text_field`."""
    values = request.form.getlist(name)
    if sum(map(len, values)) > LONGEST_TEXT:
        raise Refused(name, "value.too_long", longest=LONGEST_TEXT)
    return [reject_control_characters(name, value) for value in values]


def password_field(name: str) -> str:
    """The password as typed, with its blanks."""
    return request.form.get(name, "")


def choice_field(name: str, allowed: tuple[str, ...]) -> str:
    value = text_field(name)
    if value not in allowed:
        raise Refused(name, "value.not_a_choice", allowed=list(allowed))
    return value


def integer_field(name: str) -> int:
    """Refuses everything that is not plain ASCII digits with a possible minus."""
    value = text_field(name)
    if not value:
        raise Refused(name, "value.missing")
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS):
        raise Refused(name, "value.not_a_whole_number", value=value[:40])
    return int(value)


def size_in_bytes(name: str) -> int:
    """The size that a script reports of a file; 0 for anything else, because the file itself is counted when it
    arrives.
    """
    text = request.form.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_SIZE_DIGITS else 0


def id_field(name: str) -> int | None:
    """A row's id, None for an empty field; a number larger than any id becomes an id that no row has."""
    return max(0, min(integer_field(name), LARGEST_ID)) if text_field(name) else None


def ids_field(name: str) -> list[int]:
    """The ids of the boxes that are ticked. Raises Refused for anything else."""
    texts = [text for text in text_fields(name) if text]
    for text in texts:
        if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
            raise Refused(name, "value.not_a_whole_number", value=text[:40])
    return [min(int(text), LARGEST_ID) for text in texts]


def date_field(name: str) -> date:
    """Parses a date as `<input type=date>` sends it and as a person types it without JavaScript: 2026-11-20."""
    value = text_field(name)
    if not value:
        raise Refused(name, "value.missing")
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise Refused(name, "value.not_a_day", value=value[:40]) from None


def names_field(name: str) -> list[str]:
    """Returns names that commas, semicolons, spaces or lines separate, or that several fields of the same name have."""
    return split_names(request.form.getlist(name))


def optional_integer_field(name: str) -> int | None:
    """Returns None for an empty field."""
    return integer_field(name) if text_field(name) else None


def duration_field(name: str, bare_unit: str) -> int | None:
    """Seconds; None for an empty field."""
    text = text_field(name)
    if not text:
        return None
    seconds = parse_duration(text, bare_unit)
    if seconds is None:
        raise Refused(name, "value.not_a_duration", value=text[:40])
    return seconds


def parse_duration(text: str, bare_unit: str) -> int | None:
    """Seconds of `90m`, `2h` or `1d`; None for anything else. A bare number is of `bare_unit`: minutes for a time
    limit, as of Slurm's --time, and seconds for a grace, as of Kubernetes' terminationGracePeriodSeconds."""
    match = DURATION.fullmatch(text)
    return int(match[1]) * SECONDS[match[2] or bare_unit] if match else None


def size_field(name: str) -> int | None:
    """`12GiB`, `800MiB`, or a bare number of GiB; None for an empty field."""
    text = text_field(name)
    if not text:
        return None
    size = parse_size(text)
    if size is None:
        raise Refused(name, "value.not_a_size", value=text[:40])
    return size


def format_duration_field(seconds: int | None) -> str:
    """Formats seconds as a person types them: `90m`."""
    if seconds is None:
        return ""
    unit = next(unit for unit in ("d", "h", "m", "s") if seconds % SECONDS[unit] == 0)
    return f"{seconds // SECONDS[unit]}{unit}"


def format_size_field(size_bytes: int | None) -> str:
    """Formats bytes as `size_field` reads them, without rounding; empty for None."""
    return format_exact_size(size_bytes) if size_bytes else ""


def split_names(texts: Sequence[str]) -> list[str]:
    return " ".join(texts).replace(",", " ").replace(";", " ").split()


def error_messages_with_suggestion(refusal: Refused, endpoint: str, **route: Any) -> dict[str, str]:
    """Returns `error_messages`, in which a refusal with a suggested value has a link that opens the form with it."""
    return {each.field: sentence_with_suggestion(each, endpoint, **route) for each in refusal.each}


def sentence_with_suggestion(refusal: Refused, endpoint: str, **route: Any) -> str:
    """Returns the sentence with a link that contains all typed values, so that none has to be typed again."""
    suggested = refusal.data.get("repaired")
    if not suggested:
        return localized_error(refusal)
    # `url_for` would take a typed field called _scheme or endpoint for an option of its own.
    typed = {name: values for name, values in request.form.lists() if name not in (*ALWAYS, *route)}
    again = f"{url_for(endpoint, **route)}?{urlencode({**typed, refusal.field: suggested}, doseq=True)}"
    if len(again) > LONGEST_LINK:
        return localized_error(refusal)
    return Markup('{} <a href="{}" data-suggestion="{}" data-field="{}">{}</a>').format(
        localized_error(refusal), again, suggested, refusal.field, _("Use %(value)s", value=suggested)
    )


def read_prefilled(fields: Collection[str]) -> dict[str, str]:
    """The query parameters with which a link fills a form."""
    return {name: request.args[name] for name in fields if name in request.args}


def password_help() -> str:
    """The password rule of this installation, shown beside every field for a new password."""
    if current_cluster().settings.password_policy == "classic":
        return _("8 to 20 of upper and lower case letters, digits and ~!@#$%^&*<>?")
    return _("At least 8 characters; a sentence is fine. What is on lists of stolen passwords is refused.")


def error_messages(refusal: GroundcrewError) -> dict[str, str]:
    """{field: sentence in the reader's language}, for the field macro and the summary above the form."""
    if isinstance(refusal, Refused):
        return {each.field: localized_error(each) for each in refusal.each}
    return {"": localized_error(refusal)}


def values_by_field(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """Returns field → all its values, in case it came several times."""
    if isinstance(values, MultiDict):
        return {name: values.getlist(name) for name in values}
    return {name: [str(value)] for name, value in values.items()}
