"""Make a sentence, title, hint or word from a code and its data, in either language."""

import re
import string
from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from functools import cache
from pathlib import Path
from typing import Any

from cluster.domain.backups.problems import parse_backup_problem
from cluster.domain.queue.start_estimate import EstimateSource
from cluster.words.english import HINTS, SENTENCES, TITLES, WORDS
from cluster.words.formatting import (
    COUNTED_NOUNS,
    PARTICLES,
    format_bounds,
    format_counted,
    format_day,
    format_duration,
    format_list,
    format_number,
    format_percent,
    format_short_datetime,
    format_size,
    format_units,
    unit_word,
    with_particle,
)
from cluster.words.translations import Translations, load_translations

VARIANTS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "waiting.disk_short": (("fillers", ".unknown", False),),
    "disk.database_full": (("mount", ".unknown", False),),
    "interrupted.disk_full": (("mount", ".mount", True),),
    "waiting.node_unreachable": (("since", ".since", True),),
    "waiting.node_lost": (("since", ".since", True),),
    "waiting.node_draining": (("since", ".since", True),),
    "waiting.environment_not_ready": (("step", ".step", True),),
    "waiting.no_gpu_environment": (("image", ".image", True),),
    "job.no_gpu_environment": (("image", ".image", True),),
    "waiting.interrupted": (("node", ".node", True),),
    "waiting.environment_failed": (("operation_id", ".operation", True),),
    "waiting.dataset_failed": (("operation_id", ".operation", True),),
    "waiting.start.ahead": (("is_more_ahead", ".more", True),),
    "waiting.start.at": (("starts_on_node", ".anywhere", False),),
    "waiting.certainty.history": (("earliest_at", ".range", True),),
    "waiting.certainty.progress": (("earliest_at", ".range", True),),
    "waiting.start.freed": (("starts_on_node", ".anywhere", False),),
    "waiting.start.freed_at": (("starts_on_node", ".anywhere", False),),
    "archive.unreadable": (("name", ".unnamed", False),),
    "interrupted.node_rebooted": (("node", ".named", True),),
    "interrupted.node_lost": (("node", ".named", True),),
    "job.placed": (("nodes", ".nodes", True),),
    "job.moved": (("before", ".before", True),),
    "kubernetes.nodes_refuse": (("chosen", ".chosen", True),),
    "kubernetes.node.too_little": (("needed", ".needed", True),),
    "interrupted.start_deadline": (("why", ".why", True),),
    "kubernetes.queue_stopped": (("queue", ".named", True),),
    "kubernetes.queue_missing": (("queue", ".named", True),),
    "kubernetes.queue_preempted": (("queue", ".named", True),),
    "kubernetes.volume_missing": (("name", ".named", True),),
    "kubernetes.out_of_memory": (("limit", ".limit", True),),
    "kubernetes.evicted": (("used", ".named", True),),
    "kubernetes.node_silent": (("since", ".since", True),),
    "exit.stopped": (("by", ".by", True),),
    "exit.not_started": (("cause", ".cause", True),),
    "exit.out_of_memory": (
        ("memory_limit_bytes", ".limit", True),
        ("max_rss_bytes", ".unknown", False),
    ),
    "environment.no_space": (("needed", ".needed", True), ("path", ".unknown", False)),
}
"""By code: (data, what to append to the code, whether it has to be there)."""


LANGUAGES = ("en", "ko")
DIGEST = re.compile(r"(@sha256:[0-9a-f]{12})[0-9a-f]+")
"""Of an image: twelve digits tell it apart, sixty-four fill a phone."""
IN_BYTES = ("memory", "ephemeral-storage")
"""Of what Kubernetes gives out: everything else is counted."""
UNKNOWN = "…"
"""Stands where the data lack what a sentence asks for."""


@cache
def korean_translations() -> Translations:
    return load_translations(Path(__file__).parent, "ko")


def in_language(english: str, language: str) -> str:
    return str(korean_translations().gettext(english)) if language == "ko" else english


def has_words(code: str) -> bool:
    return code in SENTENCES or code in WORDS


def sentence(
    code: str,
    data: Mapping[str, Any] | None = None,
    language: str = "en",
    zone: tzinfo | None = None,
    now: datetime | None = None,
) -> str:
    """The whole sentence. `zone` and `now` are for times in it; without them UTC with the date.

    For a reason to wait it is made of the reason, who is ahead, what frees the units and what would help.
    """
    if code.startswith("waiting."):
        parts = (
            waiting_reason_sentence(code, data, language, zone, now),
            waiting_start_sentence(data, language, zone, now),
            waiting_help_sentence(data, language),
        )
        return " ".join(part for part in parts if part)
    known = dict(data or {})
    chosen = variant_code(code, known)
    text = fill_sentence(code, SENTENCES.get(chosen), known, language, zone, now)
    if code.startswith("exit."):
        more = ["exit.rank"] if known.get("rank") is not None else []
        more += ["exit.left_behind"] if known.get("left_behind") else []
        more += ["exit.not_finite"] if known.get("not_finite") else []
        text = " ".join([text, *(fill_sentence(part, SENTENCES[part], known, language) for part in more)])
    return text


def variant_code(code: str, data: Mapping[str, Any]) -> str:
    """The code of the sentence that says what the data have: some codes have a shorter and a longer one."""
    has = {name for name, value in data.items() if value not in (None, "", [], ())}
    if code == "waiting.not_enough_units" and data.get("nodes", 1) == 1:
        return code + ".one_node"
    for name, suffix, is_there in VARIANTS.get(code, ()):
        if (name in has) is is_there:
            return code + suffix
    return code


def title(code: str, language: str = "en") -> str:
    """A short heading for an error or an end: the code's own, else that of its family."""
    family = code.partition(".")[0]
    english = TITLES.get(code) or TITLES.get(family) or TITLES["unknown"]
    return in_language(english, language)


def hint(code: str, data: Mapping[str, Any] | None = None, language: str = "en") -> str:
    """What to do next; empty where the sentence has already said it. Of what did not start the cause comes first."""
    known = dict(data or {})
    chosen = next(
        (one for one in (variant_code(code, known), code, code.partition(".")[0]) if one in HINTS), None
    )
    text = fill_sentence(f"hint.{chosen}", HINTS[chosen], known, language) if chosen else ""
    if chosen == "exit.not_started.cause":
        text = " ".join(filter(None, [hint(str(known["cause"]), known, language), text]))
    return text


def word(group: str, value: object, language: str = "en") -> str:
    """One word for a value: word("state.job", JobState.RUNNING, "ko") is 실행 중."""
    code = f"{group}.{value}"
    english = WORDS.get(code)
    return str(value) if english is None else in_language(english, language)


def action_name(code: str, language: str = "en") -> str:
    """What an audit entry or a line of a job's history says was done."""
    return word("action", code, language)


def operation_name(kind: object, language: str = "en") -> str:
    """The name of a kind of operation."""
    return word("operation", kind, language)


def step_name(code: str, language: str = "en") -> str:
    """The name of an operation's step."""
    return word("step", code, language)


def waiting_reason_sentence(
    code: str,
    data: Mapping[str, Any] | None,
    language: str = "en",
    zone: tzinfo | None = None,
    now: datetime | None = None,
) -> str:
    """The reason alone, which the queue page sets in bold."""
    known = dict(data or {})
    return fill_sentence(code, SENTENCES.get(variant_code(code, known)), known, language, zone, now)


def waiting_start_sentence(
    data: Mapping[str, Any] | None,
    language: str = "en",
    zone: tzinfo | None = None,
    now: datetime | None = None,
) -> str:
    """Who is ahead, what frees the units when, and how sure that is; empty where nothing is known."""
    known = without_narrow_range(data or {})
    parts = []
    if known.get("ahead"):
        parts.append("waiting.start.ahead")
    if known.get("freed_by"):
        parts.append("waiting.start.freed_at" if known.get("starts_at") else "waiting.start.freed")
    elif known.get("starts_at"):
        parts.append("waiting.start.at")
    if known.get("starts_at") or known.get("earliest_at"):
        parts += CERTAINTY.get(str(known.get("source")), [])
    return " ".join(
        fill_sentence(code, SENTENCES[variant_code(code, known)], known, language, zone, now)
        for code in parts
    )


def without_narrow_range(data: Mapping[str, Any]) -> dict[str, Any]:
    """A range within one minute is none, where the likeliest moment is said."""
    minutes = {str(data.get(name))[:16] for name in ("earliest_at", "latest_at")}
    is_narrow = len(minutes) == 1 and data.get("starts_at")
    return {
        key: value for key, value in data.items() if not (is_narrow and key in ("earliest_at", "latest_at"))
    }


def waiting_help_sentence(data: Mapping[str, Any] | None, language: str = "en") -> str:
    """What would let it start now; empty where nothing would."""
    known = dict(data or {})
    parts = []
    if known.get("helps_units") and known.get("kind"):
        parts.append("waiting.helps")
    if known.get("helps_seconds"):
        parts.append("waiting.helps.time")
    return " ".join(fill_sentence(code, SENTENCES[code], known, language) for code in parts)


CERTAINTY: dict[str, list[str]] = {
    EstimateSource.TIME_LIMITS: ["waiting.certainty.time_limits"],
    EstimateSource.HISTORY: ["waiting.certainty.history"],
    EstimateSource.PROGRESS: ["waiting.certainty.progress"],
    EstimateSource.TOTALS: ["waiting.certainty.totals"],
}
"""How sure an expected start is, by where it comes from."""


def fill_sentence(
    code: str,
    english: str | None,
    data: Mapping[str, Any] | None,
    language: str,
    zone: tzinfo | None = None,
    now: datetime | None = None,
) -> str:
    """The text with its data; the code itself where there is no text."""
    if english is None:
        return code
    text = in_language(english, language)
    return _Filler(dict(data or {}), language, zone, now).format(text)


class _Filler(string.Formatter):
    """`{needed:units}`, `{at:clock}`, `{state:word state.job}`; `{n:jobs/이}` adds a particle."""

    def __init__(
        self, data: dict[str, Any], language: str, zone: tzinfo | None, now: datetime | None
    ) -> None:
        self.data, self.language, self.zone, self.now = data, language, zone, now

    def format(self, text: str, /, *args: Any, **kwargs: Any) -> str:
        return self.vformat(text, (), self.data)

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        return self.data.get(str(key))

    def format_field(self, value: Any, format_spec: str) -> str:
        form, _, particle = format_spec.partition("/")
        try:
            is_said = value is not None or form in ("seen", "offer", "bounds")
            text = self._shape(value, form) if is_said else UNKNOWN
        except (TypeError, ValueError, KeyError):
            text = str(value)
        return with_particle(text, particle) if particle in PARTICLES else text

    def _shape(self, value: Any, form: str) -> str:
        if form in COUNTED_NOUNS:
            return format_counted(value, form, self.language)
        if form.startswith("plural|"):
            _, one, many = form.split("|")
            return (one if value == 1 else many).replace("#", format_number(value))
        if form.startswith("word "):
            return word(form[5:], value, self.language)
        if form.startswith("words "):
            return format_list((word(form[6:], each, self.language) for each in value), self.language)
        kind = self.data.get("kind")
        plain = {
            "": lambda: str(value),
            "units": lambda: format_units(value, kind, self.language),
            "unit_word": lambda: unit_word(value, self.language, 2),
            "number": lambda: format_number(value),
            "duration": lambda: format_duration(value, self.language),
            "bytes": lambda: format_size(value),
            "image": lambda: DIGEST.sub(r"\1…", str(value)),
            "amount": lambda: (
                format_size(value) if self.data.get("what") in IN_BYTES else format_number(value)
            ),
            "percent": lambda: format_percent(value),
            "clock": lambda: format_short_datetime(value, self.zone, self.now),
            "day": lambda: format_day(value),
            "job": lambda: f"job-{value}",
            "seen": lambda: self._phrase("phrase.seen" if self.data.get("character") else "phrase.unseen"),
            "offer": lambda: " " + self._phrase("phrase.offer") if value else "",
            "bounds": lambda: format_bounds(self.data, self.language),
            "list": lambda: format_list(_each(value), self.language),
            "sizes": lambda: format_list(
                (f"job-{job} ({format_size(number)})" for job, number in value), self.language
            ),
            "code": lambda: sentence(str(value), self.data, self.language, self.zone, self.now),
            "why": lambda: self._problem(value),
            "whys": lambda: format_list(map(self._problem, _each(value)), self.language),
        }
        return plain[form]()

    def _problem(self, value: Any) -> str:
        """What was kept as a code with data of its own, or by an older version as a text."""
        problem = parse_backup_problem(value)
        return (
            sentence(problem.code, problem.data, self.language, self.zone, self.now) if problem else UNKNOWN
        )

    def _phrase(self, code: str) -> str:
        return fill_sentence(code, SENTENCES[code], self.data, self.language)


def _each(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple | set | frozenset) else [value]
