"""The mark of a state on pages: an icon, a colour and its word from `cluster.words`."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from cluster import words
from portal.i18n.translate import request_language

LOOKS = {
    "state.job": {
        "waiting": ("hourglass", ""),
        "starting": ("refresh", "is-info"),
        "running": ("player-play", "is-ok"),
        "stopping": ("refresh", "is-info"),
        "finished": ("check", ""),
        "failed": ("x", "is-fault"),
        "stopped": ("square", ""),
    },
    "state.hold": {"held": ("player-pause", "")},
    "state.attempt": {"placed": ("refresh", "is-info"), "ended": ("check", "")},
    "state.dataset": {"preparing": ("refresh", "is-info")},
    "state.environment": {
        "unapproved": ("hourglass", "is-info"),
        "missing": ("circle-dashed", ""),
        "building": ("refresh", "is-info"),
    },
    "state.operation": {"requested": ("hourglass", ""), "interrupted": ("alert-triangle", "is-caution")},
    "state.node": {
        "ready": ("circle-check", ""),
        "draining": ("droplet-half-2", "is-info"),
        "unreachable": ("plug-connected-x", "is-unknown"),
        "lost": ("plug-connected-x", "is-unknown"),
        "no_executor": ("ban", ""),
    },
    "state.unit": {"broken": ("x", "is-fault"), "gone": ("ban", "")},
    "state.workspace": {
        "scheduled": ("calendar", ""),
        "active": ("circle-check", ""),
        "expired": ("archive", ""),
    },
    "state.user": {"disabled": ("ban", ""), "service": ("settings", "")},
    "state.backup": {
        "verified": ("shield-check", "is-ok"),
        "not_verified": ("alert-triangle", "is-caution"),
        "damaged": ("x", "is-fault"),
    },
    "state.alert": {"caution": ("alert-triangle", "is-caution"), "error": ("alert-octagon", "is-fault")},
}
"""Icon and class of the colour, by group of words and state. A state that several groups have is listed in one of them.
"""


class StateMark(NamedTuple):
    icon: str
    colour: str
    word: str


@cache
def state_marks(language: str) -> Mapping[str, StateMark]:
    return {
        state: StateMark(icon, colour, words.word(group, state, language))
        for group, looks in LOOKS.items()
        for state, (icon, colour) in looks.items()
    }


def state_mark(state: str) -> StateMark:
    """Returns the mark in the reader's language. A state without a mark is shown by its own name."""
    return state_marks(request_language()).get(state) or StateMark("circle-dashed", "", state)
