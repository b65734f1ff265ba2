"""The results: raw values by measure, case and contender, and the figures that are made of them."""

import json
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

DIGITS = 7
SHARES = (0.5, 0.9, 0.95, 0.99, 1.0)
"""The percentiles that a summary keeps."""
OPTIONAL = ("note", "percentiles")


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
    percentiles: dict[str, float] = field(default_factory=dict)
    """By share, of all samples, where only the median of each repeat is kept."""

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
        if self.percentiles:
            return self.percentiles[str(share)]
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    def summarized(self) -> "Series":
        """Median, spread and the percentiles of SHARES stay the same; the samples are left out."""
        if all(len(repeat) <= 1 for repeat in self.repeats):
            return self
        percentiles = {str(share): self.percentile(share) for share in SHARES}
        medians = [[round(median, DIGITS + 1)] for median in self.medians]
        return replace(self, repeats=medians, percentiles=percentiles)


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
        assert not series.percentiles, f"{measure} is forgotten before it is taken again"
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

    def summarized(self) -> "Ledger":
        """For a ledger whose reader wants figures and draws no samples."""
        return replace(self, series=[each.summarized() for each in self.series])

    def save(self, path: Path) -> None:
        """A line for each series."""
        path.parent.mkdir(parents=True, exist_ok=True)
        facts = json.dumps(self.facts, indent=1, ensure_ascii=False)
        missing = json.dumps(self.missing, indent=1, ensure_ascii=False)
        lines = ",\n".join(json.dumps(without_empty(each), ensure_ascii=False) for each in self.series)
        path.write_text(f'{{\n"facts": {facts},\n"missing": {missing},\n"series": [\n{lines}\n]\n}}\n')


def without_empty(series: Series) -> dict[str, Any]:
    """A note and percentiles that a series does not have are not written."""
    return {name: value for name, value in asdict(series).items() if value or name not in OPTIONAL}


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
