"""The command's own messages in English and Korean; sentences about jobs come from the server."""

import os

KOREAN = {
    "Server address": "서버 주소",
    "API token (from your profile page)": "API 토큰 (내 프로필 페이지에서)",
    "Saved to {path}.": "{path}에 저장했습니다.",
    "No server address. Run “groundcrew login”, or set GROUNDCREW_URL.": (
        "서버 주소가 없습니다. “groundcrew login”을 실행하거나 GROUNDCREW_URL을 설정하세요."
    ),
    "No API token. Run “groundcrew login”, or set GROUNDCREW_TOKEN.": (
        "API 토큰이 없습니다. “groundcrew login”을 실행하거나 GROUNDCREW_TOKEN을 설정하세요."
    ),
    "{url} does not answer: {reason}. Is it running, and is the address right?": (
        "{url} 주소가 응답하지 않습니다: {reason}. 실행 중인지, 주소가 맞는지 확인하세요."
    ),
    "{url} answered something that is not Groundcrew (status {status}).": (
        "{url} 주소의 응답이 Groundcrew의 것이 아닙니다 (상태 {status})."
    ),
    "No training is called {name}.": "이름이 {name}인 학습이 없습니다.",
    "No workspace is called {name}.": "이름이 {name}인 작업공간이 없습니다.",
    "No dataset is called {name}.": "이름이 {name}인 데이터셋이 없습니다.",
    "Several workspaces have a training {name}: write WORKSPACE/{name}.": (
        "{name} 학습이 여러 작업공간에 있습니다. 작업공간/{name} 형식으로 쓰세요."
    ),
    "Write it as NAME=VALUE.": "이름=값 형식으로 쓰세요.",
    "Write it as 90s, 30m, 2h or 1d.": "90s, 30m, 2h, 1d처럼 쓰세요.",
    "Write it as 12GiB or 800MiB.": "12GiB, 800MiB처럼 쓰세요.",
    "job-{id} submitted.": "job-{id} 작업을 제출했습니다.",
    "job-{id} is being stopped.": "job-{id} 작업을 중지하는 중입니다.",
    "sweep-{id} submitted: {jobs} jobs.": "sweep-{id} 스윕을 제출했습니다: 작업 {jobs}건.",
    "sweep-{id} is being stopped.": "sweep-{id} 스윕을 중지하는 중입니다.",
    "Sweep": "스윕",
    "Unit hours": "단위 시간",
    "Best": "가장 좋은 것",
    "Waiting": "기다림",
    "Starting": "시작하는 중",
    "Running": "실행 중",
    "Stopping": "멈추는 중",
    "Finished": "끝남",
    "Failed": "실패",
    "Stopped": "멈춤",
    "Booked (h)": "예약 (시간)",
    "Used (h)": "사용 (시간)",
    "CPU time": "CPU 시간",
    "Dispatched": "배정",
    "Time in each state": "상태별 시간",
    "Most memory": "최대 메모리",
    "Mean memory": "평균 메모리",
    "It has not ended.": "아직 끝나지 않았습니다.",
    "Delete the files of {count} jobs for good?": "작업 {count}건의 파일을 지울까요? 되돌릴 수 없습니다.",
    "The files of {count} jobs are being deleted.": "작업 {count}건의 파일을 지우는 중입니다.",
    "Files": "파일",
    "job-{id} is held.": "job-{id} 작업을 보류했습니다.",
    "job-{id} waits again where it stood.": "job-{id} 작업이 있던 자리에서 다시 기다립니다.",
    "Say where to: --up, --down, --front or --before JOB.": (
        "옮길 곳을 쓰세요: --up, --down, --front 또는 --before JOB."
    ),
    "a job that you may not see": "볼 수 없는 작업",
    "More jobs wait behind these: --limit, --workspace or --mine show others.": (
        "뒤에 기다리는 작업이 더 있습니다: --limit, --workspace, --mine으로 봅니다."
    ),
    "More jobs run than these: --limit, --workspace or --mine show others.": (
        "실행 중인 작업이 더 있습니다: --limit, --workspace, --mine으로 봅니다."
    ),
    "Starts": "시작 시각",
    "Ends": "끝",
    "Progress": "진행",
    "It starts now.": "지금 시작합니다.",
    "It does not wait.": "기다리고 있지 않습니다.",
    "Still going after {seconds} s; the job goes on.": "{seconds}초가 지났습니다. 작업은 계속됩니다.",
    "Job": "작업",
    "State": "상태",
    "Name": "이름",
    "Workspace": "작업공간",
    "User": "사용자",
    "Units": "수량",
    "Submitted": "제출",
    "Why": "이유",
    "Node": "노드",
    "Jobs": "작업",
    "No node is called {name}.": "이름이 {name}인 노드가 없습니다.",
    "when is not known": "언제인지 모름",
    "job-{id} goes on to its end: {until}.": "job-{id} 작업은 끝까지 갑니다: {until}.",
    "They fit on no other node and go on waiting: {jobs}.": "다른 노드에 맞지 않아 계속 기다립니다: {jobs}.",
    "Drain {name}?": "{name} 노드를 비울까요?",
    "Nothing was changed.": "바꾼 것이 없습니다.",
    "{name} is being drained.": "{name} 노드를 비우는 중입니다.",
    "{name} takes jobs again.": "{name} 노드가 다시 작업을 받습니다.",
    "Free": "빔",
    "Last heartbeat": "마지막 신호",
    "In use": "쓰는 중",
    "Term": "기간",
    "Manager": "관리하는 사람",
    "Training": "학습",
    "Dataset": "데이터셋",
    "Variables": "변수",
    "Command": "명령",
    "Started": "시작",
    "Ended": "끝남",
    "Exit code": "종료 코드",
    "Page": "페이지",
    "Attempts": "시도",
}


STATES = {
    state.lower(): state
    for state in ("Waiting", "Starting", "Running", "Stopping", "Finished", "Failed", "Stopped")
}
"""The states of a job in English, by their values in REST; tests hold them to those of the pages."""


def locale_language() -> str:
    chosen = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "ko" if chosen.lower().startswith("ko") else "en"


def state_name(state: str) -> str:
    """A state of a newer server is named by itself."""
    return message(STATES.get(state, state))


def message(english: str, **data: object) -> str:
    sentence = KOREAN.get(english, english) if locale_language() == "ko" else english
    return sentence.format(**data)
