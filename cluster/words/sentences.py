"""Make a sentence, title, hint or word from a code and its data, in either language."""

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cache
from pathlib import Path
from typing import Any

from cluster.domain.backups.problems import parse_backup_problem
from cluster.domain.queue.explanations import WaitingExplanation
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
    format_metric_value,
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
    **{
        f"environment.{code}": (("text", ".indirect", False),)
        for code in (
            "package_missing",
            "version_missing",
            "needs_source",
            "no_wheel_here",
            "source_build_failed",
        )
    },
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
    "failure.module_missing": (("module", ".unknown", False),),
    "failure.file_missing": (("path", ".unknown", False),),
    "failure.not_permitted": (("path", ".unknown", False),),
    "exit.stopped": (("by", ".by", True),),
    "exit.not_started": (("cause", ".cause", True),),
    "exit.out_of_memory": (
        ("memory_limit_bytes", ".limit", True),
        ("max_rss_bytes", ".unknown", False),
    ),
    "notification.job_failed": (("ran", ".unstarted", False),),
    "notification.job_stopped": (("ran", ".unstarted", False),),
    "job.script_not_there": (("near", ".near", True), ("scripts", ".none", False)),
    "environment.no_space": (("needed", ".needed", True), ("path", ".unknown", False)),
}
"""The variants of a sentence by code: (field of the data, suffix of the code, whether the field must be there)."""


LANGUAGES = ("en", "ko")
DIGEST = re.compile(r"(@sha256:[0-9a-f]{12})[0-9a-f]+")
"""An image's digest, of which twelve digits are shown, because sixty-four would fill a phone's screen."""
IN_BYTES = ("memory", "ephemeral-storage")
"""The resources of Kubernetes that are measured in bytes. All others are counted."""
UNKNOWN = "…"
"""The text that replaces missing data."""


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
    """The complete sentence. `zone` and `now` are for its times; without them times are in UTC with the date.

    The sentence of a waiting reason consists of the reason, the jobs ahead, the units that become free, and what
    would help.
    """
    if code.startswith("waiting."):
        return str(waiting_text(WaitingExplanation(code, data or {}), language, zone, now))
    known = dict(data or {})
    chosen = variant_code(code, known)
    text = fill_sentence(code, SENTENCES.get(chosen), known, language, zone, now)
    if code.startswith("exit."):
        was_ended = code.startswith(("exit.stopped", "exit.timed_out"))
        more = ["exit.rank"] if known.get("rank") is not None and not was_ended else []
        more += ["exit.left_behind"] if known.get("left_behind") else []
        more += ["exit.not_finite"] if known.get("not_finite") and code != "exit.not_finite" else []
        text = " ".join([text, *(fill_sentence(part, SENTENCES[part], known, language) for part in more)])
    return text


@dataclass(frozen=True)
class WaitingText:
    """The sentences about a waiting job."""

    reason: str
    """The part that pages set in bold."""
    rest: str
    """The jobs ahead, the units that become free, the expected start, and what would let it start sooner."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.reason, self.rest)))


def waiting_text(
    explanation: WaitingExplanation,
    language: str = "en",
    zone: tzinfo | None = None,
    now: datetime | None = None,
) -> WaitingText:
    """Makes all sentences about a waiting job, wherever they are shown."""
    code, data = explanation.code, explanation.data
    rest = (waiting_start_sentence(data, language, zone, now), waiting_help_sentence(data, language))
    return WaitingText(waiting_reason_sentence(code, data, language, zone, now), " ".join(filter(None, rest)))


def variant_code(code: str, data: Mapping[str, Any]) -> str:
    """The code of the variant that fits the data, because some codes have a shorter and a longer sentence."""
    has = {name for name, value in data.items() if value not in (None, "", [], ())}
    if code == "waiting.not_enough_units" and data.get("nodes", 1) == 1:
        return code + ".one_node"
    for name, suffix, is_there in VARIANTS.get(code, ()):
        if (name in has) is is_there:
            return code + suffix
    return code


def title(code: str, language: str = "en") -> str:
    """A short heading for an error or an end: that of the code, else that of its family."""
    family = code.partition(".")[0]
    english = TITLES.get(code) or TITLES.get(family) or TITLES["unknown"]
    return in_language(english, language)


def hint(code: str, data: Mapping[str, Any] | None = None, language: str = "en") -> str:
    """The hint says what to do next. It is empty if the sentence has said it already. For a failed start the hint of
    the cause comes first.
    """
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
    """The name of an action in an audit entry or in a job's history."""
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
    """The waiting reason alone, which the queue page prints in bold."""
    known = dict(data or {})
    return fill_sentence(code, SENTENCES.get(variant_code(code, known)), known, language, zone, now)


def waiting_start_sentence(
    data: Mapping[str, Any] | None,
    language: str = "en",
    zone: tzinfo | None = None,
    now: datetime | None = None,
) -> str:
    """The jobs ahead, the units that become free, the expected times and their certainty.
    Empty if nothing is known.
    """
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
    """Removes a range that lies within one minute if the likeliest moment is given."""
    minutes = {str(data.get(name))[:16] for name in ("earliest_at", "latest_at")}
    is_narrow = len(minutes) == 1 and data.get("starts_at")
    return {
        key: value for key, value in data.items() if not (is_narrow and key in ("earliest_at", "latest_at"))
    }


def waiting_help_sentence(data: Mapping[str, Any] | None, language: str = "en") -> str:
    """The changes that would let the job start now; empty if there are none."""
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
"""The certainty of an expected start, by the source of the estimate."""


def fill_sentence(
    code: str,
    english: str | None,
    data: Mapping[str, Any] | None,
    language: str,
    zone: tzinfo | None = None,
    now: datetime | None = None,
) -> str:
    """The text with its data, or the code if there is no text."""
    if english is None:
        return code
    text = in_language(english, language)
    if "{" not in text and "}" not in text:
        return text
    return _SentenceFormatter(dict(data or {}), language, zone, now).format(text)


class _SentenceFormatter(string.Formatter):
    """Formats `{needed:units}`, `{at:clock}` and `{state:word state.job}`; `{n:jobs/이}` also adds a particle."""

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
            "metric": lambda: format_metric_value(str(self.data.get("metric")), value),
            "clock": lambda: format_short_datetime(value, self.zone, self.now),
            "day": lambda: format_day(value),
            "job": lambda: f"job-{value}",
            "seen": lambda: self._phrase(self._phrase_of_character()),
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
        """The sentence of a nested code with its data. Older versions stored a text instead."""
        problem = parse_backup_problem(value)
        return (
            sentence(problem.code, problem.data, self.language, self.zone, self.now) if problem else UNKNOWN
        )

    def _phrase_of_character(self) -> str:
        if self.data.get("character"):
            return "phrase.seen"
        return "phrase.space" if self.data.get("codepoint") == "U+0020" else "phrase.unseen"

    def _phrase(self, code: str) -> str:
        return fill_sentence(code, SENTENCES[code], self.data, self.language)


def _each(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple | set | frozenset) else [value]
