"""The results of a sweep say which value wins, which is faster, and where losses were NaN."""

from cluster.domain.states import JobState
from cluster.domain.sweeps.comparison import SweepJobResult
from cluster.domain.sweeps.findings import SweepFinding, list_findings
from cluster.domain.sweeps.plan import SweepKind, SweepPlan

ACCURACY = "accuracy/validation"
PLAN = SweepPlan(SweepKind.GRID, {"lr": ("0.1", "0.05"), "batch": ("64", "128")})
"""Jobs 1 to 4: 0.1 with 64, 0.1 with 128, 0.05 with 64, 0.05 with 128."""


def results(
    *accuracies: float | None, seconds: tuple[float, ...] = (100, 100, 100, 100)
) -> list[SweepJobResult]:
    """None: the loss of this job was NaN."""
    return [
        SweepJobResult(
            number,
            10 + number,
            JobState.FINISHED,
            {} if accuracy is None else {ACCURACY: (0.0, accuracy, 0.0)},
            seconds[number - 1],
            is_nan=accuracy is None,
        )
        for number, accuracy in enumerate(accuracies, start=1)
    ]


def found(entries: list[SweepJobResult]) -> dict[str, SweepFinding]:
    return {finding.code: finding for finding in list_findings(entries, PLAN, ACCURACY)}


def test_a_value_that_wins_with_every_combination_is_named_with_its_margins() -> None:
    finding = found(results(0.90, 0.88, 0.92, 0.93))["finding.always_best"]
    assert finding.data == {"name": "lr", "value": "0.05"}
    assert finding.margins is not None
    assert [round(margin, 3) for margin in finding.margins] == [0.02, 0.05]


def test_nothing_is_said_where_it_depends_on_the_others_or_where_values_are_equal() -> None:
    assert "finding.always_best" not in found(results(0.90, 0.95, 0.92, 0.85))
    assert found(results(0.9, 0.9, 0.9, 0.9)) == {}
    assert found(results(0.9)) == {}


def test_a_faster_value_that_is_nearly_as_good_is_named() -> None:
    finding = found(results(0.950, 0.947, 0.91, 0.90, seconds=(100, 74, 100, 74)))["finding.faster"]
    assert (finding.data["name"], finding.data["value"], finding.data["other"]) == ("batch", "128", "64")
    assert round(finding.data["share"], 2) == 0.26
    assert "finding.faster" not in found(results(0.95, 0.80, 0.91, 0.80, seconds=(100, 74, 100, 74)))


def test_losses_that_were_nan_are_named_with_the_value_that_they_share() -> None:
    finding = found(results(None, None, 0.9, 0.8))["finding.nan_at"]
    assert (finding.data, finding.job_ids) == ({"jobs": 2, "name": "lr", "value": "0.1"}, (11, 12))
    assert found(results(None, 0.9, 0.8, None))["finding.nan"].data == {"jobs": 2}
