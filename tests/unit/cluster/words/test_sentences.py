"""Sentences as people read them: short, true, with numbers, and right in number and particle."""

from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cluster import words
from cluster.domain.jobs import exits
from cluster.domain.queue import reasons
from cluster.domain.queue.reasons import WaitingReason, to_waiting_data
from cluster.domain.queue.start_estimate import StartEstimate
from cluster.domain.states import JobState, UnitKind
from cluster.words import sentences

SEOUL = ZoneInfo("Asia/Seoul")
NOW = datetime(2026, 11, 20, 5, 6, tzinfo=UTC)
AT = datetime(2026, 11, 20, 5, 38, tzinfo=UTC)


@pytest.mark.parametrize(
    ("reason", "outlook", "english", "korean"),
    [
        (
            reasons.NotEnoughUnits(4, 3, "gpu08", UnitKind.GPU, 16),
            StartEstimate(1, 1054, 1055, AT, "gpu08", 3),
            "Needs 4 GPUs on one node; the emptiest node, gpu08, has 3. One job is ahead. "
            "Starts on gpu08 when job-1055 ends, about 14:38. With 3 GPUs it starts now.",
            "GPU 4장이 한 노드에 있어야 하는데, 가장 많이 빈 노드 gpu08에 GPU 3장이 있습니다. 앞에 1건. "
            "job-1055가 14:38쯤 끝나면 gpu08에서 시작합니다. GPU 3장으로 낮추면 지금 시작합니다.",
        ),
        (
            reasons.NotEnoughUnits(2, 1, "gc1", UnitKind.CPU_SLOT),
            StartEstimate(freed_by=13, starts_on_node="gc1", helps_units=1),
            "Needs 2 CPU slots; 1 is free on gc1. Starts on gc1 when job-13 ends; when that will be is not "
            "known. With 1 CPU slot it starts now.",
            "CPU 슬롯 2개가 필요한데, gc1에 빈 것은 CPU 슬롯 1개입니다. job-13이 끝나면 gc1에서 시작합니다. "
            "언제 끝날지는 알 수 없습니다. CPU 슬롯 1개로 낮추면 지금 시작합니다.",
        ),
        (
            reasons.QuotaInUse(8, 8, 2, UnitKind.GPU),
            StartEstimate(freed_by=1049, starts_at=AT),
            "The workspace uses 8 of its 8 GPUs; this job needs 2. Starts when job-1049 ends, about 14:38.",
            "작업공간이 할당량 GPU 8장 가운데 GPU 8장을 쓰고 있고, 이 작업에는 GPU 2장이 필요합니다. "
            "job-1049가 14:38쯤 끝나면 시작합니다.",
        ),
        (
            reasons.AheadInQueue(3, 12),
            StartEstimate(ahead=3, first_ahead=12),
            "Waits for its turn behind job-12. 3 jobs are ahead.",
            "job-12 다음 차례를 기다립니다. 앞에 3건.",
        ),
        (
            reasons.EnvironmentNotReady("default", 0.42),
            StartEstimate(),
            "The training environment default is being built, 42 % done. The job starts when it is ready.",
            "학습 환경 default: 만드는 중입니다 (42 %). 준비되면 시작합니다.",
        ),
        (
            reasons.OnlyNodesUnreachable("gpu08", AT),
            StartEstimate(),
            "gpu08 has not answered since 14:38, and no other node can run it. It starts when gpu08 is back.",
            "14:38부터 gpu08의 응답이 없고, 대신할 노드가 없습니다. gpu08 노드가 돌아오면 시작합니다.",
        ),
        (
            reasons.WorkspaceExpired("speech", date(2026, 11, 1)),
            StartEstimate(),
            "Workspace speech ended on 2026-11-01. The job starts when an administrator extends it.",
            "작업공간 speech의 기간은 2026-11-01에 끝났습니다. 관리자가 연장하면 시작합니다.",
        ),
        (
            reasons.WorkspaceStorageFull("speech", 3 << 29, 1 << 30),
            StartEstimate(),
            "Workspace speech stores 1.5 GiB of the 1.0 GiB that it may: nothing is added and no job starts there.",
            "작업공간 speech: 저장 한도는 1.0 GiB, 저장된 크기는 1.5 GiB입니다. "
            "더 저장하거나 작업을 시작할 수 없습니다.",
        ),
        (
            reasons.AttemptInterrupted("interrupted.node_rebooted", 2),
            StartEstimate(),
            "Attempt 2 was interrupted: The node was restarted meanwhile. It waits for units again.",
            "2번째 시도가 중단되었습니다. 그 사이에 노드가 다시 시작되었습니다. 다시 자리를 기다립니다.",
        ),
    ],
    ids=lambda value: getattr(value, "code", ""),
)
def test_one_honest_sentence_per_waiting_job(
    reason: WaitingReason, outlook: StartEstimate, english: str, korean: str
) -> None:
    data = to_waiting_data(reason, outlook)
    assert sentences.sentence(reason.code, data, "en", SEOUL, NOW) == english
    assert sentences.sentence(reason.code, data, "ko", SEOUL, NOW) == korean


@pytest.mark.parametrize("language", words.LANGUAGES)
@pytest.mark.parametrize("code", sorted(reasons.REASONS))
def test_a_reason_without_its_data_still_is_a_sentence(code: str, language: str) -> None:
    assert sentences.sentence(code, {}, language).endswith(".")
    assert sentences.sentence(code, None, language)


def test_on_a_machine_without_gpus_nobody_says_gpu() -> None:
    for code in set(reasons.REASONS) - {reasons.NoGpuEnvironment.code}:  # Said where units are GPUs alone.
        data = {
            "kind": "cpu_slot",
            "needed": 2,
            "free": 1,
            "quota": 2,
            "used": 1,
            "most": 1,
            "helps_units": 1,
        }
        for language in words.LANGUAGES:
            assert "GPU" not in sentences.sentence(code, data, language)


@pytest.mark.parametrize(
    ("code", "data", "english", "korean"),
    [
        (
            "exit.command_not_found",
            {"exit_code": 127},
            "Exit code 127: command or path not found.",
            "종료 코드 127: 명령이나 경로를 찾을 수 없습니다.",
        ),
        (
            "exit.killed",
            {"exit_code": 137, "rank": 1},
            "Exit code 137: killed from outside (SIGKILL), not by Groundcrew. Rank 1 was the first to fail.",
            "종료 코드 137: 밖에서 강제로 종료했습니다 (SIGKILL). Groundcrew가 한 일이 아닙니다. "
            "1번 랭크가 가장 먼저 실패했습니다.",
        ),
        ("exit.stopped", {"by": "kim"}, "Stopped by kim.", "kim 사용자가 중지했습니다."),
        ("exit.stopped", {}, "Stopped on request.", "요청에 따라 중지했습니다."),
        (
            "exit.out_of_memory",
            {"max_rss_bytes": 8 * 1024**3},
            "Out of memory: the kernel ended the program at 8.0 GiB.",
            "메모리 부족: 커널이 8.0 GiB에서 프로그램을 종료했습니다.",
        ),
        (
            "exit.out_of_memory",
            {"memory_limit_bytes": 12 * 1024**3, "max_rss_bytes": 8 * 1024**3},
            "Out of memory: the job used its limit of 12.0 GiB.",
            "메모리 부족: 작업이 메모리를 모두 썼습니다. 한도는 12.0 GiB입니다.",
        ),
        (
            "exit.process_limit",
            {"process_limit": 4096, "exit_code": 137},
            "Too many processes: the job reached its limit of 4,096 processes and threads.",
            "프로세스 초과: 작업이 프로세스와 스레드 한도 4,096개에 이르렀습니다.",
        ),
        (
            "exit.out_of_memory",
            {},
            "Out of memory: the kernel ended the program.",
            "메모리 부족: 커널이 프로그램을 종료했습니다.",
        ),
        (
            "exit.finished",
            {"left_behind": 2, "exit_code": 0},
            "Completed, exit code 0. 2 processes that it had left running were ended.",
            "정상 완료. 종료 코드 0. 남겨 둔 프로세스 2개를 종료했습니다.",
        ),
    ],
)
def test_how_a_job_ended(code: str, data: dict[str, Any], english: str, korean: str) -> None:
    assert sentences.sentence(code, data, "en") == english
    assert sentences.sentence(code, data, "ko") == korean


def test_every_meaning_of_an_exit_code_has_words_in_both_languages() -> None:
    for number in range(256):
        code, data = exits.meaning_of_status(number)
        for language in words.LANGUAGES:
            sentence = sentences.sentence(code, data, language)
            assert sentence != code
            assert "…" not in sentence


@pytest.mark.parametrize(
    ("jobs", "english", "korean"),
    [
        (1, "1 living job reads digits. Stop", "작업 1건이 digits"),
        (2, "2 living jobs read digits. Stop", "작업 2건이 digits"),
    ],
)
def test_english_counts_right(jobs: int, english: str, korean: str) -> None:
    data = {"jobs": jobs, "name": "digits"}
    assert sentences.sentence("dataset.in_use", data, "en").startswith(english)
    assert sentences.sentence("dataset.in_use", data, "ko").startswith(korean)


def test_who_may_is_named() -> None:
    data = {"allowed": ["administrator", "manager"]}
    assert sentences.sentence("forbidden.workspace.edit", data) == (
        "Only administrators and the workspace's manager may edit this workspace."
    )
    assert sentences.sentence("forbidden.workspace.edit", data, "ko") == (
        "다음 사람만 이 작업공간을 고칠 수 있습니다: 관리자, 작업공간 관리자."
    )


@pytest.mark.parametrize("language", [*words.LANGUAGES, "tlh"])
def test_a_code_that_nobody_knows_is_shown_as_it_is(language: str) -> None:
    assert sentences.sentence("no.such_code", {"a": 1}, language) == "no.such_code"
    assert sentences.word("state.job", "dreaming", language) == "dreaming"
    assert sentences.action_name("job.dreamt", language) == "job.dreamt"
    assert sentences.step_name("dream", language) == "dream"
    assert sentences.hint("no.such_code", None, language) == ""
    assert sentences.title("no.such_code", language)
    assert not sentences.has_words("no.such_code")
    assert sentences.has_words("exit.finished")


def test_data_that_do_not_fit_do_not_break_a_page() -> None:
    assert "many" in sentences.sentence("dataset.in_use", {"jobs": "many", "name": "digits"})
    assert "…" in sentences.sentence("workspace.units_over_capacity", {"units": 3, "kind": "abacus"})
    assert sentences.sentence("waiting.environment_not_ready", {"name": "default", "progress": "soon"})
    assert "later" in sentences.sentence("waiting.start.freed_at", {"starts_at": "later", "freed_by": 3})
    assert sentences.sentence("value.not_a_choice", {"allowed": 5}) == "Choose one of 5."


def test_braces_of_strangers_are_text() -> None:
    assert "{0.__class__}" in sentences.sentence("name.taken", {"name": "{0.__class__}"})


def test_words_for_values() -> None:
    assert sentences.word("state.job", JobState.RUNNING) == "Running"
    assert sentences.word("state.job", JobState.RUNNING, "ko") == "실행 중"
    assert sentences.operation_name("environment.build", "ko") == "학습 환경 만들기"
    assert sentences.action_name("job.submitted") == "Job submitted"


def test_a_word_inside_a_sentence_is_said_in_its_language_too() -> None:
    assert (
        sentences.sentence("job.not_now", {"state": "stopping"})
        == "This is not possible in the present state: Stopping."
    )
    assert (
        sentences.sentence("job.not_now", {"state": "stopping"}, "ko")
        == "지금 상태(멈추는 중)에서는 할 수 없습니다."
    )


def test_titles_and_hints() -> None:
    assert sentences.title("not_found.job", "ko") == "찾을 수 없습니다"
    assert sentences.title("exit.killed") == "How it ended"
    assert sentences.hint("exit.killed").startswith("The usual reason is too little memory.")
    assert sentences.hint("exit.finished") == ""
    assert sentences.hint("not_found.job") == "Check the address, or ask whoever gave it to you."


def test_of_an_image_so_much_of_its_digest_is_said_as_tells_it_apart() -> None:
    data = {"node": "gpu01", "image": "lab:5000/training@sha256:" + "0123456789abcdef" * 4}
    assert (
        sentences.sentence("kubernetes.image_not_pulled", data)
        == "gpu01 cannot get image lab:5000/training@sha256:0123456789ab… from its registry."
    )


def test_what_did_not_start_is_told_how_to_mend_its_cause_first() -> None:
    data = {"cause": "kubernetes.image_name_broken", "image": "?"}
    assert sentences.hint("exit.not_started", data) == (
        "An administrator corrects GROUNDCREW_KUBERNETES_IMAGE. "
        "Once that is mended, duplicate the job to try again."
    )
    assert "the node's log" in sentences.hint("exit.not_started", {})
