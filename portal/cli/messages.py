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
    "job-{id} is not ready: {state}.": "job-{id} 작업이 준비되지 않았습니다: {state}.",
    "You have no notebook of {name}.": "{name} 학습의 노트북이 없습니다.",
    "Forget {name} and its units?": "{name} 노드와 그 자원을 지울까요?",
    "{name} is forgotten.": "{name} 노드를 지웠습니다.",
    "No environment is called {name}.": "이름이 {name}인 환경이 없습니다.",
    "{name} is declined.": "{name} 환경을 거절했습니다.",
    "{name} waits for the approval of the manager.": "{name} 환경이 작업공간 관리자의 승인을 기다립니다.",
    "{name} is being built: op-{operation}.": "{name} 환경을 만들고 있습니다: op-{operation}.",
    "Environment": "환경",
    "Ran in": "실행한 환경",
    "Libraries": "라이브러리",
    "Digest": "다이제스트",
    "Built": "만든 때",
    "Workspaces": "작업공간",
    "Trainings": "학습",
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
    "now": "지금",
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
    "Error": "오류",
    "--lower-is-better needs --objective METRIC.": "--lower-is-better는 --objective METRIC과 함께 쓰세요.",
    "--delete works with a folder alone.": "--delete는 폴더를 올릴 때만 쓸 수 있습니다.",
    "Version {version} is being unpacked.": "버전 {version}의 압축을 푸는 중입니다.",
    "launcher": "실행기",
    "rank {number}": "랭크 {number}",
    "Result": "결과",
    "Tags": "태그",
    "Note": "메모",
    "Node": "노드",
    "Unit": "자원",
    "Model": "모델",
    "Used": "사용률",
    "Memory": "메모리",
    "Temperature": "온도",
    "Power": "전력",
    "simulated": "가상",
    "Jobs": "작업",
    "No node is called {name}.": "이름이 {name}인 노드가 없습니다.",
    "when is not known": "언제인지 모름",
    "job-{id} goes on to its end: {until}.": "job-{id} 작업은 끝까지 갑니다: {until}.",
    "They fit on no other node and go on waiting: {jobs}.": "다른 노드에 맞지 않아 계속 기다립니다: {jobs}.",
    "Drain {name}?": "{name} 노드를 비울까요?",
    "Only administrators drain, open and forget nodes.": "노드를 비우고 열고 지우는 일은 관리자만 할 수 있습니다.",
    "Nothing was changed.": "바꾼 것이 없습니다.",
    "{name} is being drained.": "{name} 노드를 비우는 중입니다.",
    "The storage limit of {name} is saved.": "작업공간 {name}의 저장 한도를 저장했습니다.",
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
    "Kind": "종류",
    "Owner": "소유자",
    "Metric": "지표",
    "Lowest": "최솟값",
    "Highest": "최댓값",
    "Last value": "마지막 값",
    "Written": "쓴 때",
    "The folder has more entries than these.": "폴더에 항목이 더 있습니다.",
    "{count} files with {size} fetched into {folder}, {kept} were here already.": (
        "파일 {count}개({size})를 {folder}에 받았습니다. {kept}개는 이미 있었습니다."
    ),
    "{folder} has too many files: fetch it as a zip archive from its page.": (
        "{folder}에 파일이 너무 많습니다: 해당 페이지에서 zip으로 받으세요."
    ),
    "The server sent a name that is no file name: {name}": "서버가 파일 이름이 아닌 이름을 보냈습니다: {name}",
    "{url} has another authority than this fingerprint: nothing was saved.": (
        "{url} 주소의 인증 기관은 이 지문과 다릅니다: 저장하지 않았습니다."
    ),
    "{id} was left out.": "{id}: 건너뛰었습니다.",
    "Size": "크기",
    "Version": "버전",
    "Nothing has changed since version {version}.": "버전 {version} 이후 바뀐 것이 없습니다.",
    "Version {version}: {changed} files sent, {removed} left out.": (
        "버전 {version}: 파일 {changed}개를 보냈고 {removed}개를 뺐습니다."
    ),
    "Version {version}: {count} files fetched.": "버전 {version}: 파일 {count}개를 받았습니다.",
    "These files differ here; nothing was fetched: {files}. Use --force to overwrite them.": (
        "여기 있는 파일과 달라서 받지 않았습니다: {files}. 덮어쓰려면 --force를 쓰세요."
    ),
    "{path} leads out of the folder by a link.": "{path}: 링크를 따라 폴더 밖으로 나갑니다.",
    "{name} has no code yet.": "{name}: 아직 코드가 없습니다.",
    "Write WORKSPACE/NAME, and either --model or --code.": (
        "작업공간/이름 형식으로 쓰고 --model과 --code 가운데 하나를 고르세요."
    ),
    "Say what is to change.": "바꿀 것을 쓰세요.",
    "{name} is changed.": "{name}: 바꾸었습니다.",
    "{name} has {versions} versions of code with {code}, and {jobs} ended jobs with {files}.": (
        "{name}: 코드 버전 {versions}개({code}), 끝난 작업 {jobs}건({files})이 있습니다."
    ),
    "Delete {name} for good?": "{name}: 지울까요? 되돌릴 수 없습니다.",
    "{name} is deleted.": "{name}: 지웠습니다.",
    "Several workspaces have a dataset {name}: write WORKSPACE/{name}.": (
        "{name} 데이터셋이 여러 작업공간에 있습니다. 작업공간/{name} 형식으로 쓰세요."
    ),
    "Address": "주소",
    "Branch, tag or commit": "브랜치, 태그, 커밋",
    "Access": "접근 방법",
    "Public key": "공개 키",
    "Key of the server": "서버의 키",
    "Commit": "커밋",
    "Author": "작성자",
    "Subject": "제목",
    "Folder": "폴더",
    "Code version": "코드 버전",
    "A token needs --access token, a key --access deploy_key.": (
        "토큰에는 --access token, 키에는 --access deploy_key가 필요합니다."
    ),
    "op-{id} fetches.": "op-{id}에서 가져오는 중입니다.",
    "The fetch did not end well.": "코드를 가져오지 못했습니다.",
    "Version {version}: {commit} {subject}": "버전 {version}: {commit} {subject}",
    "Nothing new since version {version}: {commit} {subject}": (
        "버전 {version} 이후 새 커밋이 없습니다: {commit} {subject}"
    ),
    "{name} has no git source. Set one: groundcrew code git set": (
        "{name}: git 원본이 없습니다. groundcrew code git set으로 설정하세요."
    ),
    "Written to {path}. Now: ssh job-<number>": "{path}에 썼습니다. 이제 ssh job-<번호>로 들어갑니다.",
    "The server sent an address that is none: {host}": "서버가 주소가 아닌 것을 보냈습니다: {host}",
    "This machine has no ssh: install the OpenSSH client.": (
        "이 컴퓨터에 ssh가 없습니다. OpenSSH 클라이언트를 설치하세요."
    ),
    "You have no SSH key here. Add one first: groundcrew ssh-key add": (
        "등록한 SSH 키가 없습니다. 먼저 등록하세요: groundcrew ssh-key add"
    ),
    "{name} is of a built-in model. A shell needs a training of own code.": (
        "{name} 학습은 기본 모델을 씁니다. 셸에는 직접 만든 코드의 학습이 필요합니다."
    ),
    "job-{id} ends with this shell, with its connection, and at {until} at the latest.": (
        "job-{id} 작업은 이 셸이 끝나거나 접속이 끊기면 끝나고, 늦어도 {until}에 끝납니다."
    ),
    "First error, {place}: {text}": "첫 오류, {place}: {text}",
    "There may be more lines than these.": "이보다 많은 줄이 있을 수 있습니다.",
    "Fingerprint": "지문",
    "Last used": "마지막 사용",
    "{name} is added, until {until}: {fingerprint}": "{name} 키를 {until}까지 등록했습니다: {fingerprint}",
    "{name} is removed.": "{name} 키를 지웠습니다.",
    "No key is called {name}.": "이름이 {name}인 키가 없습니다.",
    "No public key is in {place}. Make one: ssh-keygen -t ed25519": (
        "{place}에 공개 키가 없습니다. 만들려면: ssh-keygen -t ed25519"
    ),
    "{file} is a private key: name the file that ends in .pub.": (
        "{file}은 개인 키입니다. 이름이 .pub로 끝나는 파일을 지정하세요."
    ),
    "CSV is of a whole month: leave the job out.": "CSV는 한 달 전체입니다: 작업을 빼고 실행하세요.",
}


STATES = {
    state.lower(): state
    for state in ("Waiting", "Starting", "Running", "Stopping", "Finished", "Failed", "Stopped")
}
"""The states of a job in English, by their values in REST. A test compares them with those of the pages."""


def locale_language() -> str:
    chosen = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "ko" if chosen.lower().startswith("ko") else "en"


def state_name(state: str) -> str:
    """The name of a state. A state that only a newer server knows keeps its value."""
    return message(STATES.get(state, state))


def message(english: str, **data: object) -> str:
    sentence = KOREAN.get(english, english) if locale_language() == "ko" else english
    return sentence.format(**data)
