"""The Korean text of what make up and other commands print, by its English text.

It is a table and no .po file, because Babel, which reads .po files, is not installed yet.
"""

KOREAN = {
    (
        "This machine has no apt-get. Install by hand what these Debian packages bring, then run the "
        "command again: {names}"
    ): (
        "이 장비에는 apt-get이 없습니다. 다음 데비안 패키지가 제공하는 것을 직접 설치한 뒤 명령을 다시 "
        "실행하세요: {names}"
    ),
    "Installing {count} system packages by apt: {names}": (
        "apt로 시스템 패키지 {count}개를 설치합니다: {names}"
    ),
    (
        "You are not root and there is no sudo. Ask an administrator to run this line, then run the "
        "command again:\n  apt-get install -y --no-install-recommends {names}"
    ): (
        "root가 아니고 sudo도 없습니다. 관리자에게 다음 명령의 실행을 부탁한 뒤 이 명령을 다시 "
        "실행하세요:\n  apt-get install -y --no-install-recommends {names}"
    ),
    "apt needs root: sudo may ask for your password.": (
        "apt에는 root 권한이 필요합니다. sudo가 비밀번호를 물을 수 있습니다."
    ),
    (
        "The packages are not installed; apt's own words are in {log}. The line to try by hand:\n  apt-get "
        "install -y --no-install-recommends {names}"
    ): (
        "패키지가 설치되지 않았습니다. apt의 출력은 {log}에 있습니다. 직접 시도할 명령:\n  apt-get install "
        "-y --no-install-recommends {names}"
    ),
    "apt says that it is done, yet these are not there: {names}. See {log}": (
        "apt는 끝났다고 하지만 다음이 없습니다: {names}. {log}를 확인하세요."
    ),
    (
        "The package server did not answer. Connect this machine to its network (or to the package mirror "
        "of /etc/apt/sources.list), then run the command again."
    ): (
        "패키지 서버가 응답하지 않습니다. 이 장비를 네트워크(또는 /etc/apt/sources.list의 미러)에 연결한 "
        "뒤 명령을 다시 실행하세요."
    ),
    "The disk is full. Make room on /var and /usr, then run the command again.": (
        "디스크가 가득 찼습니다. /var와 /usr에 공간을 마련한 뒤 명령을 다시 실행하세요."
    ),
    "Building the Python environment {name} ({count} packages) ...": (
        "파이썬 환경 {name}을 만듭니다 (패키지 {count}개) ..."
    ),
    "  built in {seconds:.0f} s": "  {seconds:.0f}초 걸렸습니다",
    (
        "The Python package index did not answer. Connect this machine to its network, or name your own "
        "index in /etc/pip.conf, then run the command again. All of it is in {log}"
    ): (
        "파이썬 패키지 서버가 응답하지 않습니다. 이 장비를 네트워크에 연결하거나 /etc/pip.conf에 사내 "
        "서버를 적은 뒤 명령을 다시 실행하세요. 전체 출력: {log}"
    ),
    "The disk is full. Make room on {path}, then run the command again.": (
        "디스크가 가득 찼습니다. {path}에 공간을 마련한 뒤 명령을 다시 실행하세요."
    ),
    "The Python environment could not be built. All of it is in {log}; the next run begins anew.": (
        "파이썬 환경을 만들지 못했습니다. 전체 출력: {log}. 다음 실행은 처음부터 다시 만듭니다."
    ),
    (
        "This machine's /usr/bin/python3 is Python {version}. Groundcrew runs on 3.11 and 3.12, the ones "
        "of Debian 12 and Ubuntu 24.04."
    ): (
        "이 장비의 /usr/bin/python3은 파이썬 {version}입니다. Groundcrew는 데비안 12와 우분투 24.04의 "
        "3.11과 3.12에서 동작합니다."
    ),
    (
        "{path} needs {need:.1f} GiB of free disk space and has {free:.1f} GiB. Make room there, then run "
        "the command again. Nothing was changed."
    ): (
        "{path}에는 빈 디스크 공간 {need:.1f} GiB가 필요하지만 {free:.1f} GiB뿐입니다. 공간을 마련한 뒤 "
        "명령을 다시 실행하세요. 아무것도 바꾸지 않았습니다."
    ),
    "{path} may not be written by this user. Run the command as root, or give the right.": (
        "이 사용자는 {path}에 쓸 수 없습니다. root로 실행하거나 권한을 주세요."
    ),
    "Nothing is installed for {clone}. Begin with: make up": (
        "{clone}에 설치된 것이 없습니다. 먼저 실행하세요: make up"
    ),
    "Interrupted. The next run goes on from here.": "중단되었습니다. 다음 실행이 여기서 이어집니다.",
    "First training: LeNet learns real handwritten digits. It also shows in the browser.": (
        "첫 학습: LeNet이 실제 손글씨 숫자를 배웁니다. 브라우저에서도 볼 수 있습니다."
    ),
    "The first training of this installation, made by make up.": (
        "이 설치의 첫 학습입니다. make up이 만들었습니다."
    ),
    "Training environment": "학습 환경",
    "No first training: {reason}": "첫 학습을 하지 않습니다. {reason}",
    "The first training cannot begin. {reason} {hint}": "첫 학습을 시작할 수 없습니다. {reason} {hint}",
    "  Steps and log: {url}/operations/{id}": "  단계와 로그: {url}/operations/{id}",
    "Handwritten digits": "손글씨 숫자",
    "LeNet on real handwritten digits.": "실제 손글씨 숫자로 배우는 LeNet입니다.",
    "epoch {epoch} of {epochs}, validation accuracy {accuracy}": (
        "에포크 {epoch}/{epochs}, 검증 정확도 {accuracy}"
    ),
    "Finished: validation accuracy {accuracy} in {time}, {speed} images/s. {page}": (
        "끝남: 검증 정확도 {accuracy}, {time}, 초당 이미지 {speed}장. {page}"
    ),
    (
        "The workspace {name} has ended, so its {units} are free for yours; it stays readable, and an "
        "administrator can extend it on its page."
    ): (
        "작업공간 {name}은 종료되어 {units}를 이제 쓸 수 있습니다. 내용은 계속 볼 수 있고, 관리자가 그 "
        "페이지에서 기간을 늘릴 수 있습니다."
    ),
    "The digits could not be written: {url}/datasets/{id}": (
        "손글씨 숫자를 쓰지 못했습니다: {url}/datasets/{id}"
    ),
    "The first training failed: {reason} Its page: {page}": (
        "첫 학습이 실패했습니다: {reason} 작업 페이지: {page}"
    ),
    "That is less than {good}: this machine does not train as it should.": (
        "{good}보다 낮습니다. 이 장비의 학습이 정상이 아닙니다."
    ),
    "The training goes on without this terminal; make up shows it again. Also: {url}/jobs": (
        "학습은 이 터미널 없이도 계속됩니다. make up을 다시 실행하면 이어서 보여 줍니다. 페이지: {url}/jobs"
    ),
    "No first training: no unit of this machine is free for it. Every unit is held by a workspace.": (
        "첫 학습을 하지 않습니다. 이 장비에 빈 자원이 없고 모두 작업공간이 쓰고 있습니다."
    ),
    "being written": "쓰는 중",
    "{count} jobs are running:": "실행 중인 작업 {count}건:",
    (
        "They are stopped and wait in the queue until the next make up. To leave them running: make down "
        "KEEP=1"
    ): ("이 작업은 중지되고 다음 make up까지 대기열에서 기다립니다. 계속 실행하려면: make down KEEP=1"),
    "Groundcrew is down.": "Groundcrew를 멈췄습니다.",
    "Groundcrew was not running.": "Groundcrew는 실행 중이 아니었습니다.",
    (
        "Nothing was stopped: there is no terminal to ask. To stop them and put them back in the queue: "
        "make down YES=1. To leave them running: make down KEEP=1"
    ): (
        "물어볼 터미널이 없어 아무것도 멈추지 않았습니다. 멈추고 대기열로 돌려보내려면: make down YES=1, "
        "계속 실행하려면: make down KEEP=1"
    ),
    "Nothing was stopped.": "아무것도 멈추지 않았습니다.",
    "{count} trainings did not end; make down again looks at them once more.": (
        "학습 {count}건이 끝나지 않았습니다. make down을 한 번 더 실행하세요."
    ),
    "still running: {job}": "계속 실행 중: {job}",
    "back in the queue, interrupted: {job}": "중단되어 대기열로 돌아감: {job}",
    "Stop them? Type yes: ": "멈출까요? yes를 입력하세요: ",
    (
        "This deletes {path} for good: users, workspaces, datasets, trainings, jobs, logs and checkpoints. "
        "The environments in {cache} stay."
    ): (
        "{path}를 완전히 지웁니다: 사용자, 작업공간, 데이터셋, 학습, 작업, 로그, 체크포인트. {cache}의 "
        "환경은 남습니다."
    ),
    "Deleted.": "지웠습니다.",
    "There is nothing to delete: {path} does not exist.": "지울 것이 없습니다. {path}가 없습니다.",
    "Groundcrew is still running. First: make down": (
        "Groundcrew가 아직 실행 중입니다. 먼저 실행하세요: make down"
    ),
    "There is no terminal to ask. To delete without a question: make reset YES=1": (
        "물어볼 터미널이 없습니다. 묻지 않고 지우려면: make reset YES=1"
    ),
    "Nothing was deleted.": "아무것도 지우지 않았습니다.",
    "Type the word delete to go on: ": "계속하려면 delete를 입력하세요: ",
    "The code or a setting has changed: starting the services anew. Trainings go on.": (
        "코드나 설정이 바뀌어 서비스를 다시 시작합니다. 학습은 계속됩니다."
    ),
    "{file} has no usable value for: {names}": "{file}에 다음 설정의 올바른 값이 없습니다: {names}",
    "The portal gave no answer for {seconds} s. Its log: {log}": (
        "포털이 {seconds}초 동안 응답하지 않습니다. 로그: {log}"
    ),
    "Another make is at work on this installation; waiting for it.": (
        "이 설치에서 다른 make가 실행 중입니다. 끝나기를 기다립니다."
    ),
    "The database was copied to {copy} and brought to this version.": (
        "데이터베이스를 {copy}에 복사하고 이 버전으로 올렸습니다."
    ),
    "Groundcrew is running at {url}": "Groundcrew 주소: {url}",
    "{host} is no address of this machine any more. Name another one, or: make up HOST=127.0.0.1": (
        "{host}는 더 이상 이 장비의 주소가 아닙니다. 다른 주소를 적거나 make up HOST=127.0.0.1을 실행하세요."
    ),
    "  Authority to give to browsers once:  {file}": "  브라우저에 한 번 등록할 인증 기관:  {file}",
    "  From another machine:  ssh -L {port}:127.0.0.1:{port} {user}@{host}": (
        "  다른 컴퓨터에서:  ssh -L {port}:127.0.0.1:{port} {user}@{host}"
    ),
    (
        "Only root may pass {folder}, while jobs and nginx run as other users. Open it (chmod o+x "
        "{folder}), or name another place: GROUNDCREW_STATE_DIR=/srv/gc make up"
    ): (
        "{folder}은(는) root만 지나갈 수 있는데 작업과 nginx는 다른 사용자로 실행됩니다. 열어 주거나 "
        "(chmod o+x {folder}) 다른 곳을 지정하세요: GROUNDCREW_STATE_DIR=/srv/gc make up"
    ),
    (
        "{state} is too long a path for a unix socket. Name a shorter one: GROUNDCREW_STATE_DIR=/srv/gc "
        "make up"
    ): (
        "{state} 경로가 유닉스 소켓에 너무 깁니다. 더 짧은 경로를 주세요: GROUNDCREW_STATE_DIR=/srv/gc "
        "make up"
    ),
    "  First administrator:   {url}/first-administrator": "  첫 관리자:      {url}/first-administrator",
    "  SSH into jobs:         closed; it opens after: apt-get install {packages}": (
        "  작업에 SSH로 들어가기:  닫혀 있습니다. 실행하면 열립니다: apt-get install {packages}"
    ),
    "  One-time secret:       {secret}   (good for 24 hours; make up prints a new one)": (
        "  일회용 암호:    {secret}   (24시간 유효, make up이 새로 만들어 줍니다)"
    ),
    "Port {port} needs root. Choose one from 1024: make up PORT=8471": (
        "포트 {port}에는 root 권한이 필요합니다. 1024 이상을 고르세요: make up PORT=8471"
    ),
    "Port {port} is taken by {name} (process {pid}). Choose another: make up PORT={other}": (
        "포트 {port}는 {name}(프로세스 {pid})이 쓰고 있습니다. 다른 포트를 고르세요: make up PORT={other}"
    ),
    "Port {port} is taken by another program. Choose another: make up PORT={other}": (
        "포트 {port}는 다른 프로그램이 쓰고 있습니다. 다른 포트를 고르세요: make up PORT={other}"
    ),
    "address   {url}": "주소      {url}",
    "version   {version}, Python {python}": "버전      {version}, 파이썬 {python}",
    "state     {path}": "상태      {path}",
    "cache     {path}": "캐시      {path}",
    "logs      {path}": "로그      {path}",
    "running jobs: {count}": "실행 중인 작업: {count}",
    "Groundcrew is not running. Start it with: make up": (
        "Groundcrew가 실행 중이 아닙니다. 시작하려면: make up"
    ),
    "service": "서비스",
    "state": "상태",
    "process": "프로세스",
    "runs for": "실행 시간",
    "PORT={typed} is not a port: a number from 1 to 65535, for example PORT=8471.": (
        "PORT={typed}는 포트가 아닙니다. 1에서 65535 사이의 수를 쓰세요. 예: PORT=8471"
    ),
    (
        "HOST={typed} is no address of this machine, and no name that leads to one. Its address as others "
        "see it: {known}"
    ): (
        "HOST={typed}: 이 장비의 주소가 아니고, 이 장비로 이어지는 이름도 아닙니다. 다른 컴퓨터에서 보이는 "
        "주소: {known}"
    ),
    "job-{id} {name} (workspace {workspace}, started by {user})": (
        "job-{id} {name} (작업공간 {workspace}, {user} 님이 실행)"
    ),
    (
        "{reason} Nothing was changed. The database, and the copies made before each migration, are in "
        "{folder}"
    ): ("{reason} 아무것도 바꾸지 않았습니다. 데이터베이스와 변경 전 복사본은 {folder}에 있습니다."),
    (
        "This machine cannot find the address of its own name, {name}, and several ranks meet by it. Add "
        "this line to /etc/hosts, then run the command again:\n  127.0.1.1 {name}"
    ): (
        "이 장비는 자기 이름 {name}의 주소를 찾지 못하는데, 여러 랭크가 그 이름으로 만납니다. /etc/hosts에 "
        "다음 줄을 더한 뒤 명령을 다시 실행하세요:\n  127.0.1.1 {name}"
    ),
    "Finishing an installation of system packages that was interrupted.": (
        "중간에 끊긴 시스템 패키지 설치를 마무리합니다."
    ),
    "Ansible is in {programs}": "Ansible 위치: {programs}",
    "  For this terminal:  export PATH={programs}:$PATH:/usr/local/sbin:/usr/sbin:/sbin": (
        "  이 터미널에서:  export PATH={programs}:$PATH:/usr/local/sbin:/usr/sbin:/sbin"
    ),
    "  Then:               ansible-playbook site.yml": "  그다음:         ansible-playbook site.yml",
    "The bundle is {path}": "묶음 파일: {path}",
    "It holds versions, settings without secrets, the last logs, states, counts and runs of repairs.": (
        "버전, 비밀을 뺀 설정, 최근 로그, 상태, 개수, 고치기 실행 기록이 들어 있습니다."
    ),
    "Look into it before you send it: tar -tzf {path}": "보내기 전에 살펴보세요: tar -tzf {path}",
    "The access log is as it was sealed: {entries} entries in {seals} seals.": (
        "접속 기록은 봉인된 그대로입니다. 봉인 {seals}개, 항목 {entries}개."
    ),
    "Seals that were written down elsewhere, all of them in it: {count}": (
        "다른 곳에 적어 둔 봉인도 모두 들어 있습니다: {count}개"
    ),
    "Not sealed yet, and not checked: {count}": "아직 봉인되지 않아 확인하지 않은 항목: {count}개",
    "--log {file}: there is no such file that you may read.": "--log {file}: 읽을 수 있는 파일이 없습니다.",
    "The database does not answer: {reason}": "데이터베이스가 응답하지 않습니다: {reason}",
    "Which backup? make restore FILE=backups/groundcrew-YYYYMMDD-hhmmss.sql.zst": (
        "어느 백업인가요? make restore FILE=backups/groundcrew-YYYYMMDD-hhmmss.sql.zst"
    ),
    "Start it with: make up": "시작하려면: make up",
    "{sentence}": "{sentence}",
    "The database is as it was on {at}: {rows} rows.": (
        "데이터베이스를 {at} 상태로 복원했습니다(행 {rows}개)."
    ),
    "  What was there is kept: {aside}": "  있던 것은 남겨 두었습니다: {aside}",
    "  Jobs that ran then and count as lost: {count}": (
        "  그때 실행 중이라 잃은 것으로 보는 작업: {count}개"
    ),
    "  Jobs that waited and are held: {count}. Each may have run since; let them go on their pages.": (
        "  기다리고 있어 보류한 작업: {count}개. 그 뒤에 실행되었을 수 있으니 작업 화면에서 풀어 주세요."
    ),
    "  Everybody signs in again. Whatever was changed since is gone, also who was disabled since.": (
        "  모두 다시 로그인해야 합니다. 그 뒤에 바뀐 것은 사라졌습니다. 그 뒤에 막은 사용자도 다시 살아 "
        "있습니다."
    ),
    "  The old installation's keys are not here: the access log of before is kept by its digest alone.": (
        "  예전 설치의 열쇠가 없습니다. 예전 접속 기록은 요약값으로만 지켜집니다."
    ),
    "  The access log was no longer what was sealed when the backup was made: Verify names the place.": (
        "  백업할 때 이미 접속 기록이 봉인한 것과 달랐습니다. 확인을 누르면 그 자리를 알려 줍니다."
    ),
    "  Datasets, code, logs and checkpoints are in no backup: put their folder back yourself, {folder}": (
        "  데이터셋, 코드, 로그, 체크포인트는 백업에 없습니다. 그 폴더를 직접 되돌려 놓으세요: {folder}"
    ),
    "{file} may not be read by this user. Run the console as root.": (
        "이 사용자는 {file}을(를) 읽을 수 없습니다. 콘솔을 root로 실행하세요."
    ),
    "No usable value for: {names}": "쓸 수 있는 값이 없음: {names}",
    "{seconds:>6.0f} s  {line}": "{seconds:>6.0f}초  {line}",
    "{name} ended with {code}: {line}\nAll of it is in {log}": (
        "{name}이(가) 종료 코드 {code}로 끝났습니다: {line}\n전체 출력은 {log}에 있습니다"
    ),
    "{what}: {line}\nAll of it is in {log}": "{what}: {line}\n전체 출력은 {log}에 있습니다",
    "the default image": "기본 이미지",
    "the wheels": "휠",
    "done": "완료",
    "fetching {count} packages of the distribution": "배포판 패키지 {count}개를 받습니다",
    "packing {name} {version}": "{name} {version} 패키지를 만듭니다",
    "pulling {name}": "{name}을(를) 가져옵니다",
    "building {name} {version}": "{name} {version}을(를) 빌드합니다",
    "packing image {name}": "이미지 {name}을(를) 만듭니다",
    "reading the licences of {count} packages": "패키지 {count}개의 라이선스를 읽습니다",
    "building the default image": "기본 이미지를 빌드합니다",
    "apt knows no archive of its distribution: none of {files} names one.": (
        "apt가 이 배포판의 저장소를 모릅니다. {files} 중 어디에도 적혀 있지 않습니다."
    ),
    "apt chose nothing for {names}": "apt가 {names}에 대해 아무 패키지도 고르지 않았습니다",
    "apt has fetched no {name}": "apt가 {name}을(를) 받지 않았습니다",
    "A disk is mounted at {target}: name a folder on it.": (
        "{target}에 디스크가 마운트되어 있습니다. 그 안의 폴더를 지정하세요."
    ),
    "{target} is no folder: name another one.": "{target}은(는) 폴더가 아닙니다. 다른 폴더를 지정하세요.",
    "{target} is not empty and holds no bundle: name another folder.": (
        "{target}은(는) 비어 있지 않고 번들도 없습니다. 다른 폴더를 지정하세요."
    ),
    "{system} has no repository of {names}: it has {known}.": (
        "{system}에는 {names}의 저장소가 없습니다. 있는 것: {known}."
    ),
    "There is no Go on this machine: install Go 1.26.8 or newer.": (
        "이 장비에 Go가 없습니다. Go 1.26.8 이상을 설치하세요."
    ),
    "{name} cannot be pulled: {error}": "{name}을(를) 가져올 수 없습니다: {error}",
    "layer {name} is packed as {kind}, which is not known here": (
        "레이어 {name}은(는) {kind} 형식이며, 여기서는 이 형식을 지원하지 않습니다"
    ),
    "layer {name} has not the content that its image's configuration names": (
        "레이어 {name}의 내용이 이미지 설정에 적힌 것과 다릅니다"
    ),
    "{file} cannot be unpacked": "{file}을(를) 풀 수 없습니다",
    "{address} answered {status}": "{address}의 응답: {status}",
    "{address} cannot be fetched: {error}": "{address}을(를) 받을 수 없습니다: {error}",
    "uv is not on PATH: make bundle has it, or leave default-image out with --only.": (
        "PATH에 uv가 없습니다. make bundle을 쓰거나 --only로 default-image를 빼세요."
    ),
    "A bundle is for x86_64 and made on such a machine; this one is {machine}.": (
        "번들은 x86_64용이며 그런 장비에서 만듭니다. 이 장비는 {machine}입니다."
    ),
    "Bundles are made in a checkout (make bundle); installed, this verifies and compares.": (
        "번들은 저장소 클론에서 만듭니다(make bundle). 설치된 명령은 확인과 비교만 합니다."
    ),
    "The bundle in {folder} is not whole: {count} faults.": (
        "{folder}의 번들이 온전하지 않습니다: 결함 {count}개."
    ),
    "Bundle {version} is whole: {count} files, {size}.": (
        "번들 {version}은(는) 온전합니다: 파일 {count}개, {size}."
    ),
    "From {old} to {new}": "{old}에서 {new}(으)로",
    "The same files.": "파일이 같습니다.",
    "Bundle {version} in {folder}: {count} files, {size}.": (
        "{folder}의 번들 {version}: 파일 {count}개, {size}."
    ),
    "{folder} holds no bundle: {name} is missing": "{folder}에 번들이 없습니다. {name}이(가) 없습니다",
    "{file} cannot be read: {error}": "{file}을(를) 읽을 수 없습니다: {error}",
    "{file} is not a manifest of format {format}": "{file}은(는) 형식 {format}의 목록이 아닙니다",
    "{file} is damaged, or was not written by a collector": "{file}이(가) 손상되었거나 수집 명령이 쓴 것이 아닙니다",
    "{file} is not in the manifest": "{file}은(는) 목록에 없습니다",
    "{file} is missing": "{file}이(가) 없습니다",
    "{file} has {found} bytes, not {wanted}": "{file}은(는) {wanted}바이트가 아니라 {found}바이트입니다",
    "{file} is not what was collected: its SHA-256 differs": (
        "{file}은(는) 수집한 것과 다릅니다: SHA-256이 다릅니다"
    ),
    "bundle {version} is older than {installed}, which is installed here": (
        "번들 {version}은(는) 여기에 설치된 {installed}보다 오래되었습니다"
    ),
    "the bundle holds packages for {systems}, not for {system}": (
        "번들에는 {systems}용 패키지가 있고 {system}용은 없습니다"
    ),
    "the bundle is not signed: {name} is missing; groundcrew-bundle sign {folder} signs it": (
        "번들에 서명이 없습니다. {name}이(가) 없습니다. groundcrew-bundle sign {folder} 명령으로 서명하십시오"
    ),
    "{file} is not the public key of a signer": "{file}은(는) 서명자의 공개 키가 아닙니다",
    "the bundle is signed by {signer}, and {trusted} is trusted here: if the site's key has changed, write "
    "the new one into groundcrew_bundle_signer": (
        "번들의 서명자는 {signer}이지만 여기에서 신뢰하는 서명자는 {trusted}입니다. 사이트의 키가 바뀌었으면 새 키를 "
        "groundcrew_bundle_signer에 적으십시오"
    ),
    "ssh-keygen is missing, which checks signatures: install openssh-client": (
        "서명을 확인하는 ssh-keygen이 없습니다. openssh-client를 설치하십시오"
    ),
    "manifest.json is not what {signer} signed: {error}": (
        "manifest.json은 {signer}이(가) 서명한 내용이 아닙니다: {error}"
    ),
    "{path} belongs to uid {uid}, who may change it": "{path}의 소유자가 uid {uid}이어서 그 사용자가 바꿀 수 있습니다",
    "{path} may be written by others: chmod go-w {path}": "{path}에 다른 사용자가 쓸 수 있습니다: chmod go-w {path}",
    "{key} is not a key that can sign bundles": "{key}은(는) 번들에 서명할 수 있는 키가 아닙니다",
    "ssh-keygen cannot sign the bundle: {error}": "ssh-keygen으로 번들에 서명하지 못했습니다: {error}",
    "Signed by {signer}.": "서명자: {signer}.",
    "Signed by {signer}. The private key is {key}: keep a copy.": (
        "서명자: {signer}. 개인 키는 {key}입니다. 사본을 보관하십시오."
    ),
    "a newer version has collected it: {error}": "더 새로운 버전이 수집한 번들입니다: {error}",
}
