"""The outcome of an attempt: of its exit record, of the launcher and of the first rank that failed."""

from typing import Any

import pytest

from cluster.domain.jobs.attempts import (
    AttemptOutcome,
    outcome_never_started,
    outcome_of,
    outcome_without_record,
    record_of_attempt,
)
from cluster.domain.jobs.exits import ExitRecord, RankExit
from cluster.domain.states import DesiredState, JobState


def ended(**facts: Any) -> ExitRecord:
    return ExitRecord(**({"exit_code": 1} | facts))


@pytest.mark.parametrize(
    ("truth", "expected"),
    [
        (ended(exit_code=0), AttemptOutcome(JobState.FINISHED, "exit.finished", {"exit_code": 0}, 0)),
        (ended(), AttemptOutcome(JobState.FAILED, "exit.error", {"exit_code": 1}, 1)),
        (
            ended(ranks=(RankExit(0, 143, 15), RankExit(1, 137, 9)), first_failed_rank=1),
            AttemptOutcome(
                JobState.FAILED,
                "exit.killed",
                {"rank": 1, "ranks": 2, "exit_code": 137, "signal": 9, "signal_name": "SIGKILL"},
                137,
            ),
        ),
        (
            ended(ranks=(RankExit(0, 0), RankExit(1, 3))),
            AttemptOutcome(JobState.FAILED, "exit.other", {"rank": 1, "ranks": 2, "exit_code": 3}, 3),
        ),
        (
            ended(exit_code=0, ranks=(RankExit(0, 0), RankExit(1, 3))),
            AttemptOutcome(JobState.FAILED, "exit.other", {"rank": 1, "ranks": 2, "exit_code": 3}, 3),
        ),
        (
            ended(exit_code=127, ranks=(RankExit(0, 127),), first_failed_rank=0),
            AttemptOutcome(JobState.FAILED, "exit.command_not_found", {"exit_code": 127}, 127),
        ),
        (
            ended(ranks=(RankExit(0, 0), RankExit(1, 0))),
            AttemptOutcome(JobState.FAILED, "exit.error", {"exit_code": 1}, 1),
        ),
        (
            ended(stopped=True, exit_code=143, signal=15),
            AttemptOutcome(JobState.STOPPED, "exit.stopped", {"exit_code": 143}, 143),
        ),
        (
            ended(stopped=True, ranks=(RankExit(0, 143, 15), RankExit(1, 1)), first_failed_rank=1),
            AttemptOutcome(JobState.STOPPED, "exit.stopped", {"exit_code": 1}, 1),
        ),
        (
            ended(timed_out=True, ranks=(RankExit(0, 143, 15), RankExit(1, 1)), first_failed_rank=1),
            AttemptOutcome(JobState.FAILED, "exit.timed_out", {"exit_code": 1}, 1),
        ),
        (
            ended(timed_out=True, exit_code=143, signal=15),
            AttemptOutcome(JobState.FAILED, "exit.timed_out", {"exit_code": 143}, 143),
        ),
        (
            ended(out_of_memory=True, exit_code=137, signal=9, max_rss_bytes=8),
            AttemptOutcome(
                JobState.FAILED, "exit.out_of_memory", {"exit_code": 137, "max_rss_bytes": 8}, 137
            ),
        ),
        (
            ended(process_limit=4096, exit_code=137, signal=9),
            AttemptOutcome(
                JobState.FAILED, "exit.process_limit", {"exit_code": 137, "process_limit": 4096}, 137
            ),
        ),
        (
            ended(process_limit=4096, exit_code=0),
            AttemptOutcome(JobState.FINISHED, "exit.finished", {"exit_code": 0}, 0),
        ),
        (
            ended(process_limit=4096, stopped=True, exit_code=137, signal=9),
            AttemptOutcome(JobState.STOPPED, "exit.stopped", {"exit_code": 137}, 137),
        ),
        (
            ended(out_of_memory=True, exit_code=None),
            AttemptOutcome(JobState.FAILED, "exit.out_of_memory", {}, None),
        ),
        (
            ended(error="exit.not_started", exit_code=None),
            AttemptOutcome(JobState.FAILED, "exit.not_started", {}, None),
        ),
    ],
)
def test_the_end_of_a_job(truth: ExitRecord, expected: AttemptOutcome) -> None:
    assert outcome_of(truth) == expected


def test_a_lost_loss_is_named_although_the_program_finished() -> None:
    outcome = outcome_of(ended(exit_code=0, not_finite="loss/train"))
    assert (outcome.state, outcome.data["not_finite"]) == (JobState.FINISHED, "loss/train")


def test_whatever_was_wished_decides_what_nobody_saw() -> None:
    assert outcome_of(ended(error="exit.not_started"), DesiredState.STOP).state is JobState.STOPPED
    assert outcome_without_record(DesiredState.STOP) == AttemptOutcome(JobState.STOPPED, "exit.stopped", {})
    assert outcome_without_record(DesiredState.RUN) == AttemptOutcome(JobState.FAILED, "exit.lost", {})
    assert outcome_never_started(DesiredState.STOP).code == "exit.stopped_before_start"


def test_a_file_of_another_attempt_does_not_count() -> None:
    truth = ExitRecord(job=7, attempt=2, fence=2, exit_code=0)
    assert record_of_attempt(truth, 7, 2, 2) is truth
    assert record_of_attempt(truth, 7, 3, 3).error == "exit.truth_foreign"
    unreadable = ExitRecord(error="exit.truth_unreadable")
    assert record_of_attempt(unreadable, 7, 3, 3) is unreadable
