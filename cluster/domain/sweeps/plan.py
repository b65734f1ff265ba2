"""Plan a sweep: several values per parameter become several jobs. Check them, fill their commands, decide when to
stop.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from cluster.domain.built_in_models import BuiltInModel, VariableValue, check_variables, parse_variable
from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import JobRequest, SubmissionWarning, check_command
from cluster.domain.refusals import Refusals
from cluster.domain.states import JobState

MAX_SWEEP_JOBS = 10_000
MAX_PARAMETERS = 20
LONGEST_VALUE = 1000
MAX_SWEEP_BYTES = 16 * 1024 * 1024
"""The limit for all commands of a sweep together, because they are written in one transaction."""

PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_-]{0,39})\}")
RANGE = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})")


class SweepKind(StrEnum):
    GRID = "grid"
    """Every value is combined with every other."""
    LIST = "list"
    """The first values belong together, then the second ones, and so on."""


@dataclass(frozen=True)
class SweepRequest:
    """The request of a form or a REST body: a job, and the values that differ from one job to the next. A text among
    `values` is split as people type it; a list is used unchanged.
    """

    job: JobRequest
    values: Mapping[str, str | Sequence[str]]
    kind: SweepKind = SweepKind.GRID
    most_at_once: int | None = None
    stop_on_trouble: bool = False


@dataclass(frozen=True)
class SweepPlan:
    """The checked values. Row n (from 1) has the values of job n and is not stored."""

    kind: SweepKind
    values: Mapping[str, tuple[VariableValue, ...]]

    @property
    def size(self) -> int:
        lengths = [len(values) for values in self.values.values()]
        return prod(lengths) if self.kind is SweepKind.GRID else max(lengths)

    @property
    def differing(self) -> tuple[str, ...]:
        """The parameters whose values differ between jobs."""
        return tuple(name for name, values in self.values.items() if len(set(values)) > 1)

    def row(self, number: int) -> dict[str, VariableValue]:
        """The values of one job. The last parameter changes fastest; a single value of a list
        is used for all jobs.
        """
        place = number - 1
        found: dict[str, VariableValue] = {}
        for name, values in reversed(list(self.values.items())):
            if self.kind is SweepKind.LIST:
                found[name] = values[place if len(values) > 1 else 0]
            else:
                place, own = divmod(place, len(values))
                found[name] = values[own]
        return {name: found[name] for name in self.values}

    def rows(self) -> Iterator[dict[str, VariableValue]]:
        """The values of all jobs in their order."""
        if self.kind is SweepKind.GRID:
            together: Iterator[tuple[VariableValue, ...]] = product(*self.values.values())
        else:
            size = self.size
            columns = (values if len(values) > 1 else values * size for values in self.values.values())
            together = zip(*columns, strict=True)
        return (dict(zip(self.values, row, strict=True)) for row in together)

    def to_data(self) -> dict[str, Any]:
        values = {name: list(values) for name, values in self.values.items()}
        return {"kind": self.kind.value, "values": values, "order": list(values)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "SweepPlan":
        """Parses a row's JSON. PostgreSQL sorts the keys of an object, hence `order`."""
        return cls(SweepKind(data["kind"]), {name: tuple(data["values"][name]) for name in data["order"]})


def split_values(name: str, text: str) -> tuple[str, ...]:
    """Splits values as people type them: separated by commas or lines, quotes around commas, `1..5` for a range.

    Raises Refused for a quote that is not closed and for a range that is too long.
    """
    try:
        cells = [
            cell for row in csv.reader(text.splitlines(), skipinitialspace=True, strict=True) for cell in row
        ]
    except csv.Error:
        raise Refused(f"values.{name}", "sweep.quote_open", name=name) from None
    found: list[str] = []
    for cell in (cell.strip() for cell in cells):
        ends = RANGE.fullmatch(cell)
        if ends:
            low, high = int(ends[1]), int(ends[2])
            if not 0 <= high - low < MAX_SWEEP_JOBS:
                raise Refused(f"values.{name}", "sweep.bad_range", name=name, range=cell, most=MAX_SWEEP_JOBS)
            found += [str(value) for value in range(low, high + 1)]
        elif cell:
            found.append(cell)
    return tuple(found)


def check_sweep(request: SweepRequest, model: BuiltInModel | None) -> SweepPlan:
    """The plan with typed values. `model` is None for own code. Raises Refused for each `values.<parameter>`."""
    refusals = Refusals()
    if not request.values:
        raise Refused("values", "sweep.no_values")
    if len(request.values) > MAX_PARAMETERS:
        raise Refused("values", "sweep.too_many_parameters", count=len(request.values), most=MAX_PARAMETERS)
    least, most = 1, MAX_SWEEP_JOBS
    if request.most_at_once is not None and not least <= request.most_at_once <= most:
        refusals.add(Refused("most_at_once", "sweep.most_at_once_range", least=least, most=most))
    parse = parse_custom_value if model is None else model_value_parser(model)
    values: dict[str, tuple[VariableValue, ...]] = {}
    for name, raw in request.values.items():
        with refusals.collect():
            values[name] = parse_values(name, raw, parse)
            if name in request.job.variables:
                raise Refused(f"values.{name}", "sweep.variable_twice", name=name)
    refusals.raise_all()
    plan = SweepPlan(request.kind, values)
    check_sweep_size(plan)
    if request.kind is SweepKind.LIST:
        check_rows(plan)
    return plan


def parse_values(
    name: str, raw: str | Sequence[str], parse: Callable[[str, str], VariableValue]
) -> tuple[VariableValue, ...]:
    texts = split_values(name, raw) if isinstance(raw, str) else tuple(raw)
    if not texts:
        raise Refused(f"values.{name}", "sweep.value_missing", name=name)
    if len(texts) > MAX_SWEEP_JOBS:
        raise Refused("values", "sweep.too_many_jobs", jobs=len(texts), most=MAX_SWEEP_JOBS)
    return tuple(parse(name, text) for text in texts)


def model_value_parser(model: BuiltInModel) -> Callable[[str, str], VariableValue]:
    """Parses values by the types and bounds of the model's variables."""

    def parse(name: str, text: str) -> VariableValue:
        try:
            if not any(variable.name == name for variable in model.variables):
                check_variables(model, {name: text})
            return parse_variable(model.variable(name), text)
        except Refused as refusal:
            raise Refused(f"values.{name}", refusal.code, **refusal.data) from None

    return parse


def parse_custom_value(name: str, text: str) -> VariableValue:
    """Keeps the value as it was typed, because own code parses it."""
    field = f"values.{name}"
    if not PARAMETER.fullmatch(name):
        raise Refused("values", "sweep.bad_parameter", name=name[:60])
    if not text.strip():
        raise Refused(field, "sweep.value_missing", name=name)
    if len(text) > LONGEST_VALUE:
        raise Refused(field, "sweep.value_too_long", name=name, most=LONGEST_VALUE)
    try:
        check_command((name, text))
    except Refused as refusal:
        raise Refused(
            field, "sweep.bad_value", name=name, codepoint=refusal.data.get("codepoint", "")
        ) from None
    return text


def check_sweep_size(plan: SweepPlan) -> None:
    if plan.kind is SweepKind.LIST:
        lengths = {name: len(values) for name, values in plan.values.items() if len(values) > 1}
        longest = max(lengths, key=lambda name: lengths[name], default="")
        for name, count in lengths.items():
            if count != lengths[longest]:
                raise Refused(
                    f"values.{name}",
                    "sweep.lists_differ",
                    name=name,
                    count=count,
                    other=longest,
                    other_count=lengths[longest],
                )
    if plan.size > MAX_SWEEP_JOBS:
        raise Refused("values", "sweep.too_many_jobs", jobs=plan.size, most=MAX_SWEEP_JOBS)
    if plan.kind is SweepKind.GRID:
        for name, values in plan.values.items():
            twice = first_duplicate(values)
            if twice is not None:
                raise Refused(f"values.{name}", "sweep.value_twice", name=name, value=str(values[twice])[:40])


def check_rows(plan: SweepPlan) -> None:
    """Refuses equal rows. In a list a single value may be repeated."""
    twice = first_duplicate([tuple(row.values()) for row in plan.rows()])
    if twice is not None:
        raise Refused("values", "sweep.row_twice", row=twice + 1)


def first_duplicate(values: Sequence[Any]) -> int | None:
    """The index of the first value that is equal to an earlier one. None if all differ."""
    seen: set[Any] = set()
    for place, value in enumerate(values):
        if value in seen:
            return place
        seen.add(value)
    return None


def fill_command(command: Sequence[str], row: Mapping[str, VariableValue]) -> list[str]:
    """Replaces `{lr}` in an argument by the value of lr. A parameter without a placeholder is appended as `--lr
    value`.
    """
    template = parse_command(tuple(command))
    filled = [fill_word(pieces, row) if len(pieces) > 1 else pieces[0] for pieces in template.words]
    for name, value in row.items():
        if name not in template.placeholders:
            filled += (f"--{name}", str(value))
    return filled


def fill_word(pieces: tuple[str, ...], row: Mapping[str, VariableValue]) -> str:
    """Fills every second piece, which is a placeholder's name. A placeholder without a value stays as it was typed."""
    filled = list(pieces)
    for place in range(1, len(pieces), 2):
        name = pieces[place]
        filled[place] = str(row[name]) if name in row else f"{{{name}}}"
    return "".join(filled)


@dataclass(frozen=True)
class CommandTemplate:
    """A command, each word split into its texts and, between them, the names of its placeholders."""

    words: tuple[tuple[str, ...], ...]
    placeholders: frozenset[str]


@lru_cache(maxsize=64)
def parse_command(command: tuple[str, ...]) -> CommandTemplate:
    """The result is cached, because each job of a sweep needs it."""
    words = tuple(tuple(PLACEHOLDER.split(word)) for word in command)
    return CommandTemplate(words, frozenset(name for pieces in words for name in pieces[1::2]))


def placeholders(command: Sequence[str]) -> frozenset[str]:
    return parse_command(tuple(command)).placeholders


def check_commands(command: Sequence[str], plan: SweepPlan) -> None:
    """Checks the longest possible command. Raises Refused."""
    check_command(command)
    longest = {
        name: max(values, key=lambda value: len(str(value).encode())) for name, values in plan.values.items()
    }
    words = check_command(fill_command(command, longest))
    if sum(len(word.encode()) + 1 for word in words) * plan.size > MAX_SWEEP_BYTES:
        raise Refused("values", "sweep.too_large", most=MAX_SWEEP_BYTES)


def unknown_placeholders(job: JobRequest, plan: SweepPlan) -> tuple[SubmissionWarning, ...]:
    """Warns of braces around a name without values, which stay unchanged and are seldom intended."""
    unknown = sorted(placeholders(job.command) - set(plan.values))
    return tuple(
        SubmissionWarning("command", "sweep.placeholder_unknown", {"name": name}) for name in unknown
    )


def stop_code_of(state: JobState, code: str, data: Mapping[str, Any]) -> str | None:
    """The reason why a sweep that stops on failure stops now. A job that reached its time limit has not failed."""
    if data.get("not_finite"):
        return "sweep.nan"
    if state is JobState.FAILED and code != "exit.timed_out":
        return "sweep.crash"
    return None
