"""A ledger that is stored as figures says the same as one that has all samples."""

from pathlib import Path

from tests.bench.results import SHARES, Ledger, load

OURS = "Groundcrew, SQLite"


def a_ledger() -> Ledger:
    ledger = Ledger(facts={"begun": "today"}, missing=["P7, a thing"])
    for repeat in range(3):
        ledger.latencies("P7", "one page", OURS, [(n * 7 % 101 + repeat) / 1000 for n in range(100)])
        ledger.value("P7", "pages", OURS, "", 10 + repeat, "beside others")
    return ledger


def test_a_summary_keeps_median_spread_and_percentiles(tmp_path: Path) -> None:
    raw = a_ledger()
    raw.summarized().save(tmp_path / "figures.json")
    stored = load(tmp_path / "figures.json")
    assert (stored.facts, stored.missing) == (raw.facts, raw.missing)
    for whole, figures in zip(raw.series, stored.series, strict=True):
        assert (figures.case, figures.unit, figures.note) == (whole.case, whole.unit, whole.note)
        assert (figures.median, figures.spread) == (whole.median, whole.spread)
        assert [figures.percentile(share) for share in SHARES] == [
            whole.percentile(share) for share in SHARES
        ]
    assert sum(len(series.samples) for series in stored.series) == 6
    assert stored.summarized() == stored


def test_a_ledger_with_all_samples_is_read_back_as_it_was(tmp_path: Path) -> None:
    a_ledger().save(tmp_path / "raw.json")
    assert load(tmp_path / "raw.json") == a_ledger()
    assert len((tmp_path / "raw.json").read_text().splitlines()) < 20


def test_a_measure_that_is_taken_again_begins_anew() -> None:
    ledger = a_ledger().summarized()
    ledger.forget("P7")
    ledger.latencies("P7", "one page", OURS, [1.0, 3.0])
    assert [series.samples for series in ledger.series] == [[1.0, 3.0]]
