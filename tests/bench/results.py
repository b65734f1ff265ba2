"""The results: raw values by measure, case and contender, and the figures that are made of them."""

import json
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

DIGITS = 7


@dataclass
class Series:
    """One contender in one case of a measure: a list of samples per repeat.

    `kind` is "value" (one number per repeat: a rate, a duration) or "latency" (seconds, many per repeat).
    """

    measure: str
    case: str
    contender: str
    unit: str
    kind: str
    note: str = ""
    repeats: list[list[float]] = field(default_factory=list)

    @property
    def samples(self) -> list[float]:
        return [sample for repeat in self.repeats for sample in repeat]

    @property
    def medians(self) -> list[float]:
        return [statistics.median(repeat) for repeat in self.repeats if repeat]

    @property
    def median(self) -> float:
        """Of the repeats' medians, so that one bad repeat does not speak for the others."""
        return statistics.median(self.medians)

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest and the highest repeat."""
        return min(self.medians), max(self.medians)

    def percentile(self, share: float) -> float:
        """Over all samples of all repeats; 0.99 is p99."""
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@dataclass
class Ledger:
    """Everything that a report is made of; written as one JSON file."""

    series: list[Series] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    """Machine, versions, tuning, and how long each measure took."""
    missing: list[str] = field(default_factory=list)
    """Sentences about what could not be measured."""

    def find(self, measure: str, case: str, contender: str) -> Series | None:
        for each in self.series:
            if (each.measure, each.case, each.contender) == (measure, case, contender):
                return each
        return None

    def value(self, measure: str, case: str, contender: str, unit: str, value: float, note: str = "") -> None:
        """One repeat's number."""
        self._series(measure, case, contender, unit, "value", note).repeats.append([round(value, DIGITS)])

    def latencies(
        self, measure: str, case: str, contender: str, seconds: Sequence[float], note: str = ""
    ) -> None:
        """One repeat's samples, in seconds."""
        series = self._series(measure, case, contender, "s", "latency", note)
        series.repeats.append([round(sample, DIGITS) for sample in seconds])

    def _series(self, measure: str, case: str, contender: str, unit: str, kind: str, note: str) -> Series:
        found = self.find(measure, case, contender)
        if found is None:
            found = Series(measure, case, contender, unit, kind, note)
            self.series.append(found)
        return found

    def forget(self, measure: str) -> None:
        """Everything of one measure, before it is taken again."""
        self.series = [each for each in self.series if each.measure.partition(",")[0] != measure]
        self.missing = [sentence for sentence in self.missing if not sentence.startswith(f"{measure},")]

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = {
            "facts": self.facts,
            "missing": self.missing,
            "series": [asdict(each) for each in self.series],
        }
        path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


def load(path: Path) -> Ledger:
    whole = json.loads(path.read_text())
    return Ledger([Series(**each) for each in whole["series"]], whole["facts"], whole["missing"])


@contextmanager
def missing(ledger: Ledger, what: str, *kinds: type[Exception]) -> Iterator[None]:
    """What cannot be had is said, and the run goes on."""
    try:
        yield
    except kinds as trouble:
        sentence = f"{what}: {type(trouble).__name__}: {trouble}"
        print(f"  not measured: {sentence}", flush=True)
        ledger.missing.append(sentence)
