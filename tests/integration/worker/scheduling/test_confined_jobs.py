"""A root shim's program sees a machine of its own: asked by a program that tries what it may not."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.services.storage import folders
from cluster.store.workspaces import Workspace
from tests.builders import a_dataset
from tests.integration.worker.executors.conftest import IS_ROOT, UID
from tests.integration.worker.scheduling.conftest import Field
from worker.inside import shim_cloud_metadata

OWN_UIDS = (5_000_001, 5_000_000 + 2**20 - 1)
"""Of this test alone, so that no rule stands for them beforehand."""
SECRET = "--password=of-somebody-else"
LOOKS = """
import errno, glob, json, os, socket, sys

def tried(act):
    try:
        return act()
    except OSError as error:
        return errno.errorcode[error.errno]

def connect(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        return tried(lambda: one.connect((address, port)))

def write(path):
    return tried(lambda: open(path, "w").close())

def command_lines():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        yield tried(lambda: open(path).read())

_, anybodys, beside, foreign = sys.argv
print(json.dumps({
    "system": write(anybodys + "/x"),
    "out": write(os.environ["GROUNDCREW_OUT"] + "/x"),
    "tmp": [write(folder + "/" + os.path.basename(beside) + ".mine") for folder in ("/tmp", "/var/tmp", "/dev/shm")],
    "sees in tmp": os.path.exists(beside),
    "dataset": open(os.environ["GROUNDCREW_DATASET"] + "/rows.csv").read(),
    "dataset, written": write(os.environ["GROUNDCREW_DATASET"] + "/x"),
    "foreign": os.path.exists(foreign),
    "secret": any("--password=" in (line or "") for line in command_lines()),
    "myself": os.getpid() == int(os.readlink("/proc/self")),
    "metadata": connect("169.254.169.254", 80),
    "names": connect("169.254.169.254", 53) != "EACCES",
    "loopback": connect("127.0.0.1", 80),
}))
"""


@pytest.fixture
def anybodys() -> Iterator[Path]:
    """A folder of the system's disk that the modes alone would let everybody write."""
    folder = Path(tempfile.mkdtemp(prefix="gc-test-", dir="/var/cache"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def opened_again() -> Iterator[None]:
    yield
    shim_cloud_metadata.unblock_cloud_metadata(*OWN_UIDS)


@pytest.mark.usefixtures("opened_again")
@pytest.mark.skipif(not IS_ROOT, reason="only root may give a program a view of its own")
def test_a_program_reaches_its_own_folders_and_no_others(field_: Field, anybodys: Path) -> None:
    settings, own = field_.cluster.settings, field_.training.workspace_id
    with field_.cluster.store.read() as session:
        workspace = session.get_one(Workspace, own)
    dataset = a_dataset(field_.cluster, workspace)
    folder = folders.dataset_folder(settings, dataset)
    folder.mkdir(parents=True)
    folder.chmod(0o777)  # Modes alone would let the program write it.
    (folder / "rows.csv").write_text("1,2\n")
    foreign = settings.storage_dir / "workspaces" / str(own + 1)
    foreign.mkdir()
    foreign.chmod(0o777)
    with (
        tempfile.NamedTemporaryFile(prefix="gc-test-", dir="/tmp") as beside,
        subprocess.Popen(
            ["/bin/sh", "-c", "read line", SECRET], user=UID + 1, stdin=subprocess.PIPE
        ) as other,
    ):
        field_.start_scheduler(GROUNDCREW_UID_BASE=str(OWN_UIDS[0] - 1))
        arguments = [str(anybodys), beside.name, str(foreign)]
        job = field_.submit(LOOKS, command=["train.py", *arguments], dataset_id=dataset.id)
        try:
            ended = field_.wait_for_end(job)
        finally:
            other.kill()
        assert ended.end_code == "exit.finished", field_.log(job, kind="stderr")
    assert json.loads(field_.log(job)) == {
        "system": "EROFS",
        "out": None,
        "tmp": [None, None, None],
        "sees in tmp": False,
        "dataset": "1,2\n",
        "dataset, written": "EROFS",
        "foreign": False,
        "secret": False,
        "myself": True,
        "metadata": "EACCES",
        "names": True,
        "loopback": None,
    }
    assert not Path(f"{beside.name}.mine").exists() and (field_.out(job) / "x").exists()
