"""Every reason to wait is said with a number and a name, in both languages (Q4)."""

import re
from datetime import UTC, date, datetime
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

from cluster import words
from cluster.domain.queue import reasons
from cluster.domain.queue.reasons import WaitingReason, to_waiting_data
from cluster.domain.queue.start_estimate import EstimateSource, StartEstimate
from cluster.domain.states import UnitKind

SEOUL = ZoneInfo("Asia/Seoul")
NOW = datetime(2026, 11, 20, 5, 6, tzinfo=UTC)
AT = datetime(2026, 11, 20, 5, 38, tzinfo=UTC)
EARLY = datetime(2026, 11, 20, 5, 20, tzinfo=UTC)
LATE = datetime(2026, 11, 20, 6, 0, tzinfo=UTC)
GPU = UnitKind.GPU
SILENT = {"code": "kubernetes.node_silent", "data": {"node": "alpha", "since": AT.isoformat()}}

CASES: list[tuple[WaitingReason, StartEstimate, str, str]] = [
    (reasons.NotEnoughUnits(4, 3, "alpha", GPU, 16), StartEstimate(), "4", "alpha"),
    (reasons.NotEnoughUnits(4, 3, "alpha", GPU), StartEstimate(), "4", "alpha"),
    (reasons.NotEnoughUnitsTogether(16, 9, 4, GPU), StartEstimate(0, None, 12, AT, "alpha"), "16", "job-12"),
    (reasons.ClusterTooSmall(64, 32, 4, GPU), StartEstimate(), "64", "GPU"),
    (reasons.NodesTooSmall(4, 3, "alpha", GPU), StartEstimate(), "4", "alpha"),
    (reasons.QuotaInUse(8, 7, 2, GPU), StartEstimate(0, None, 12, AT), "7", "job-12"),
    (reasons.QuotaTooSmall(2, 4, GPU), StartEstimate(), "4", "GPU"),
    (reasons.AheadInQueue(3, 12), StartEstimate(3, 12), "3", "job-12"),
    (reasons.AheadInQueue(1000, 12), StartEstimate(1000, 12, is_more_ahead=True), "1,000", "job-12"),
    (reasons.ReservedForAnother(12, "alpha"), StartEstimate(), "12", "alpha"),
    (reasons.WorkspaceNotStarted("speech", date(2026, 12, 1)), StartEstimate(), "2026-12-01", "speech"),
    (reasons.WorkspaceExpired("speech", date(2026, 11, 1)), StartEstimate(), "2026-11-01", "speech"),
    (reasons.WorkspaceStorageFull("speech", 3 << 28, 1 << 29), StartEstimate(), "768 MiB", "512 MiB"),
    (reasons.EnvironmentNotReady("default", 0.25), StartEstimate(), "25", "default"),
    (reasons.EnvironmentFailed("default", 3), StartEstimate(), "operation-3", "default"),
    (reasons.NoGpuEnvironment("default"), StartEstimate(), "GPU", "default"),
    (
        reasons.NoGpuEnvironment("groundcrew-default:1", "groundcrew-default:1"),
        StartEstimate(),
        "cuda",
        "groundcrew-default:1",
    ),
    (reasons.DatasetNotReady("digits", 0.5), StartEstimate(), "50", "digits"),
    (reasons.DatasetFailed("digits", 7), StartEstimate(), "operation-7", "digits"),
    (
        reasons.DiskBelowReserve("/data", 3 << 28, 1 << 30, [[12, 5 << 30]]),
        StartEstimate(),
        "768 MiB",
        "job-12",
    ),
    (reasons.DiskBelowReserve("/data", 3 << 28, 1 << 30), StartEstimate(), "768 MiB", "/data"),
    (reasons.OnlyNodesUnreachable("alpha", AT), StartEstimate(), "14:38", "alpha"),
    (reasons.OnlyNodesLost("alpha", AT), StartEstimate(), "14:38", "alpha"),
    (reasons.OnlyNodesDraining("alpha", AT), StartEstimate(), "14:38", "alpha"),
    (reasons.NodeClosedByKubernetes("alpha", SILENT), StartEstimate(), "14:38", "alpha"),
    (reasons.NoExecutor("alpha", 3), StartEstimate(), "3", "alpha"),
    (reasons.NoNodes(2), StartEstimate(), "2", "groundcrew-agent"),
    (reasons.JobOnHold("kim", AT), StartEstimate(), "14:38", "kim"),
    (reasons.SweepLimitReached(3, 4), StartEstimate(), "4", "3"),
    (reasons.AttemptInterrupted("interrupted.node_rebooted", 2, "alpha"), StartEstimate(), "2", "alpha"),
    (
        reasons.RetryBackoff("interrupted.node_rebooted", 5, "alpha", 4, 7, AT),
        StartEstimate(),
        "14:38",
        "alpha",
    ),
    (reasons.RetryAfterFailure("exit.killed", 2, 1, 3), StartEstimate(), "2", "3"),
    (reasons.NotYetExamined(), StartEstimate(), "2", "scheduler|스케줄러"),
]


def test_no_reason_is_left_out() -> None:
    assert {type(reason) for reason, *_ in CASES} == set(get_args(WaitingReason))


@pytest.mark.parametrize("language", words.LANGUAGES)
@pytest.mark.parametrize(
    ("reason", "outlook", "number", "name"), CASES, ids=lambda value: getattr(value, "code", "")
)
def test_a_number_and_a_name(
    reason: WaitingReason, outlook: StartEstimate, number: str, name: str, language: str
) -> None:
    sentence = words.sentence(reason.code, to_waiting_data(reason, outlook), language, SEOUL, NOW)
    assert re.search(name, sentence), sentence
    assert number in re.sub(name, "", sentence, count=1) or number in name, sentence
    assert "…" not in sentence
    assert "{" not in sentence


@pytest.mark.parametrize(
    ("outlook", "english", "korean"),
    [
        (
            StartEstimate(
                freed_by=12, starts_at=AT, starts_on_node="alpha", source=EstimateSource.TIME_LIMITS
            ),
            "Starts on alpha when job-12 ends, about 14:38. That is when time limits end what runs: it may be "
            "earlier.",
            "job-12가 14:38쯤 끝나면 alpha에서 시작합니다. "
            "실행 중인 작업의 시간 제한을 따른 시각이라 더 일러질 수 있습니다.",
        ),
        (
            StartEstimate(starts_at=AT, earliest_at=EARLY, latest_at=LATE, source=EstimateSource.HISTORY),
            "Starts about 14:38. Going by earlier runs it is between 14:20 and 15:00.",
            "14:38쯤 시작합니다. 앞서 걸린 시간을 따르면 14:20에서 15:00 사이입니다.",
        ),
        (
            StartEstimate(starts_at=AT, source=EstimateSource.HISTORY),
            "Starts about 14:38. That is how long earlier runs took.",
            "14:38쯤 시작합니다. 앞서 걸린 시간을 따른 시각입니다.",
        ),
        (
            StartEstimate(
                ahead=1000,
                is_more_ahead=True,
                earliest_at=EARLY,
                latest_at=LATE,
                source=EstimateSource.TOTALS,
            ),
            "More than 1,000 jobs are ahead. Starts between 14:20 and 15:00, going by the totals of the queue.",
            "앞에 1,000건보다 많습니다. 대기열 합계를 따르면 14:20에서 15:00 사이에 시작합니다.",
        ),
    ],
)
def test_an_expected_start_says_how_sure_it_is(outlook: StartEstimate, english: str, korean: str) -> None:
    data = to_waiting_data(reasons.AheadInQueue(1, 12), outlook)
    assert words.waiting_start_sentence(data, "en", SEOUL, NOW) == english
    assert words.waiting_start_sentence(data, "ko", SEOUL, NOW) == korean


def test_what_would_help_is_said() -> None:
    data = to_waiting_data(reasons.QuotaInUse(8, 7, 2, GPU), StartEstimate(helps_units=1, helps_seconds=1200))
    assert (
        words.waiting_help_sentence(data, "en")
        == "With 1 GPU it starts now. With a time limit of 20 min it starts now."
    )
    assert words.waiting_help_sentence(data, "ko") == (
        "GPU 1장으로 낮추면 지금 시작합니다. 시간 제한을 20분 이하로 두면 지금 시작합니다."
    )
