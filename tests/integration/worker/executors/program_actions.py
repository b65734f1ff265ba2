"""The actions of a program of the contract suite, in words that each executor's programs understand."""

import json
from dataclasses import asdict, dataclass

PROGRAM = """
import json, os, signal, sys, time

act = json.loads(sys.argv[1])

def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()

def leave(*_):
    say(act["last_words"])
    os._exit(0)

def words_of(pid):
    with open("/proc/%d/cmdline" % pid, "rb") as file:
        return file.read().split(b"\\0")

def forge():
    control = os.path.join(os.environ["GROUNDCREW_OUT"], os.pardir, "control")
    truth = {"job": act["job"], "attempt": 1, "fence": 1, "exit_code": 0, "signal": None, "ranks": [],
             "stopped": False, "timed_out": False, "out_of_memory": False, "first_failed_rank": None,
             "started_at": None, "ended_at": None, "error": None}
    try:
        with open(os.path.join(control, "exit.json"), "w") as file:
            json.dump(truth, file)
        pid = os.getpid()
        while not any(word.endswith(b"/shim.py") for word in words_of(pid)):
            pid = int(open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[1])
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass

if act["ignores_stop"]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
elif act["last_words"]:
    signal.signal(signal.SIGTERM, leave)
say(act["says"])
if act["forges"]:
    forge()
time.sleep(act["seconds"])
sys.exit(act["exit_code"])
"""


@dataclass(frozen=True)
class Act:
    """Says something, lasts so many seconds, and ends so; on a polite stop it says its last words."""

    says: str = ""
    seconds: float = 0.0
    exit_code: int = 0
    last_words: str = ""
    ignores_stop: bool = False
    forges: bool = False
    """Writes itself a good result and kills its shim, where it can."""

    def argv(self, python: str, job: int) -> tuple[str, ...]:
        return (python, "-u", "-c", PROGRAM, json.dumps(asdict(self) | {"job": job}))
