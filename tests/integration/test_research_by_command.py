"""A researcher works by the command alone: a fresh folder, the distribution's Python, the portal's address and a token.

The command is the file that the portal serves; nothing of the repository can be imported beside it.
"""

import json
import re
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cluster.services.people import api_tokens
from tests.builders import a_user, a_workspace, actor_of
from tests.installation import an_installation
from tests.integration.ready_installation import ready_cluster, wait_until

PYTHON = "/usr/bin/python3"
REGISTERED_BELOW = Path("/srv")
"""Where folders of a server may be registered as datasets unless the settings say otherwise."""
MINUTE = 60
CODE = """
import json, os, sys
from pathlib import Path

import groundcrew_job

rate = float(sys.argv[1])
images = list(Path(os.environ.get("GROUNDCREW_DATASET", "/nowhere")).rglob("*.png"))
for step in range(3):
    groundcrew_job.log(step=step, epoch=step, scalars={"accuracy/validation": rate + step / 10})
    print(f"step {step}", flush=True)
results = Path(os.environ["GROUNDCREW_OUT"]) / "results"
results.mkdir()
(results / "answer.json").write_text(json.dumps({"rate": rate, "images": len(images)}))
print("learned", flush=True)
"""


@dataclass
class Terminal:
    """A folder with nothing but the command in it, in a shell that knows nothing else; output goes into pipes."""

    folder: Path
    url: str
    token: str
    data: Path
    program: Path = field(init=False)

    def __post_init__(self) -> None:
        self.program = self.folder / "groundcrew.pyz"

    def run(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [PYTHON, "-I", str(self.program), *words],
            cwd=self.folder,
            env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=3 * MINUTE,
            check=False,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def say(self, *words: str) -> str:
        return self.run(*words).stdout.strip()

    def document(self, *words: str) -> Any:
        return json.loads(self.run(*words, "-o", "json").stdout)

    def rows(self, *words: str) -> list[list[str]]:
        """Of machine output: tabs between the values, no titles."""
        return [line.split("\t") for line in self.run(*words).stdout.splitlines()]


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with an_installation() as installation, ready_cluster(installation) as cluster:
        minji = a_user(cluster, "minji")
        a_workspace(cluster, minji, units=2, name="vision-lab")
        _, token = api_tokens.create_api_token(cluster, actor_of(minji), "laptop", ["read", "write"])
        folders = [Path(tempfile.mkdtemp(prefix="gc-terminal-", dir=at)) for at in (None, REGISTERED_BELOW)]
        try:
            yield Terminal(folders[0], f"http://127.0.0.1:{installation.port}", token, folders[1])
        finally:
            for folder in folders:
                shutil.rmtree(folder)


def test_a_researcher_gets_from_nothing_to_results_by_the_command_alone(terminal: Terminal) -> None:
    install(terminal)
    make_training(terminal)
    register_dataset(terminal)
    job = run_job(terminal)
    read_results(terminal, job)
    run_again(terminal, job)
    compare_sweep(terminal)
    exit_codes_say_what_was_wrong(terminal, job)


def install(terminal: Terminal) -> None:
    with urllib.request.urlopen(f"{terminal.url}/groundcrew.pyz", timeout=MINUTE) as answer:
        terminal.program.write_bytes(answer.read())
    assert terminal.say("--version").startswith("groundcrew ")
    assert "No server address" in terminal.run("job", "list", code=2).stderr
    refused = terminal.run("login", "--url", terminal.url, "--token", "gc_1_wrong", code=3)
    assert refused.stdout == ""
    terminal.run("login", "--url", terminal.url, "--token", terminal.token)
    saved = terminal.folder / ".config" / "groundcrew" / "config.toml"
    assert saved.stat().st_mode & 0o777 == 0o600
    assert terminal.rows("workspace", "list")[0][0] == "vision-lab"


def make_training(terminal: Terminal) -> None:
    """Version 1 cannot run; the second one is pushed."""
    code = terminal.folder / "code"
    code.mkdir()
    (code / "train.py").write_text("raise SystemExit(1)\n")
    assert terminal.say("training", "create", "vision-lab/words", "--code", "code") == "vision-lab/words"
    (code / "train.py").write_text(CODE)
    assert terminal.say("code", "push", "-t", "words", "code") == "Version 2: 1 files sent, 0 left out."
    assert terminal.say("code", "push", "-t", "words", "code") == "Nothing has changed since version 2."
    assert [row[0] for row in terminal.rows("code", "list", "-t", "words")] == ["2", "1"]


def register_dataset(terminal: Terminal) -> None:
    terminal.data.chmod(0o755)
    for name in ("bar", "ring"):
        (terminal.data / name).mkdir()
        Image.new("L", (8, 8)).save(terminal.data / name / "1.png")
    path = str(terminal.data)
    assert terminal.say("dataset", "register", "vision-lab/shapes", path) == "vision-lab/shapes"
    wait_until(lambda: terminal.document("dataset", "list")[0]["state"] == "ready", MINUTE, "the dataset")
    (row,) = terminal.rows("dataset", "list")
    assert row[:4] == ["shapes", "ready", "vision-lab", "2"]


def run_job(terminal: Terminal) -> str:
    """The id as other commands take it; it is all that goes to stdout."""
    words = ("job", "submit", "-t", "words", "-d", "shapes", "-n", "first", "--launcher", "plain")
    assert terminal.say(*words, "--dry-run", "--", "train.py", "0.5") == "It starts now."
    assert terminal.rows("job", "list") == []
    refused = terminal.run(*words, "-u", "99", "--", "train.py", "0.5", code=6)
    assert "units:" in refused.stderr and refused.stdout == ""
    job = terminal.say(*words, "--", "train.py", "0.5")
    assert re.fullmatch(r"job-\d+", job)
    log = terminal.run("job", "logs", "-f", job)
    assert log.stdout == "step 0\nstep 1\nstep 2\nlearned\n"
    return job


def read_results(terminal: Terminal, job: str) -> None:
    shown = terminal.document("job", "show", job)
    assert (shown["state"], shown["exit_code"]) == ("finished", 0)
    assert (shown["headline"]["metric"], shown["headline"]["value"]) == ("accuracy/validation", 0.7)
    (row,) = terminal.rows("job", "list")
    assert [row[0], row[2]] == [job, "first"]
    assert [cell for cell in row if "70.0 %" in cell]
    assert terminal.say("job", "list", "-o", "name") == job
    assert "results/" in [row[0] for row in terminal.rows("job", "files", job)]
    assert terminal.say("job", "pull", job, "results", "-d", "here").startswith("1 files with ")
    answer = json.loads((terminal.folder / "here" / "results" / "answer.json").read_text())
    assert answer == {"rate": 0.5, "images": 2}
    assert "0 files with " in terminal.say("job", "pull", job, "results", "-d", "here")


def run_again(terminal: Terminal, job: str) -> None:
    again = terminal.say("job", "rerun", job)
    found = re.fullmatch(r"(job-\d+) submitted\.", again)
    assert found and found[1] != job
    terminal.run("job", "logs", "-f", found[1])
    original, copy = (terminal.document("job", "show", each) for each in (job, found[1]))
    assert copy["state"] == "finished" and copy["code_version"] == original["code_version"] == 2


def compare_sweep(terminal: Terminal) -> None:
    words = ("sweep", "submit", "-t", "words", "-n", "rates", "--launcher", "plain", "-v", "rate=0.1,0.3")
    command = ("--", "train.py", "{rate}")
    assert "rates-rate=0.3" in terminal.say(*words, "--dry-run", *command)
    sweep = terminal.say(*words, *command)
    assert re.fullmatch(r"sweep-\d+", sweep)
    wait_until(
        lambda: terminal.document("sweep", "show", sweep)["states"] == {"finished": 2},
        3 * MINUTE,
        "the sweep",
    )
    shown = terminal.document("sweep", "show", sweep)
    results = {row["values"]["rate"]: row["results"]["accuracy/validation"] for row in shown["table"]}
    assert {str(rate): value for rate, value in results.items()} == {"0.1": pytest.approx(0.3), "0.3": 0.5}
    best = f"job-{shown['best']['job_id']}"
    assert best == f"job-{shown['table'][0]['job_id']}"
    assert f"id: {best.removeprefix('job-')}\n" in terminal.run("job", "show", best, "-o", "yaml").stdout


def exit_codes_say_what_was_wrong(terminal: Terminal, job: str) -> None:
    failing = ("job", "submit", "-t", "words", "--launcher", "plain", "--wait", "--", "train.py", "much")
    failed = terminal.run(*failing, code=1)
    assert re.fullmatch(r"job-\d+\n", failed.stdout)
    assert "could not convert string to float" in terminal.say(
        "job", "logs", failed.stdout.strip(), "--stderr"
    )
    assert terminal.run("job", "cancel", job, code=5).stdout == ""
    assert terminal.run("job", "show", "job-999999", code=4).stdout == ""
    assert terminal.run("job", "submit", "-t", "nobodys", "--", "train.py", code=4).stdout == ""
    assert "No such command" in terminal.run("job", "begin", code=2).stderr
    (terminal.folder / ".config" / "groundcrew" / "config.toml").unlink()
    assert "No server address" in terminal.run("job", "list", code=2).stderr
