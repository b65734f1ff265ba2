"""The sandbox does what it can on machines that offer less, which the tests take away here."""

import errno
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.nodes.confinement import GAP_CODES, list_confinement_gaps
from tests.integration.worker.executors.conftest import IS_ROOT, PYTHON, UID, Bench
from worker.executors.contract import SandboxSpec
from worker.executors.process import ProcessExecutor
from worker.executors.shim_start import DetachedShimStarter
from worker.inside import shim_cloud_metadata, shim_sandbox

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="only root may give a program a view of its own")
UIDS = (190_000, 190_099)
CLONE_NEWNET = 0x40000000
WRITES = """
import os, sys
for path in sys.argv[1:]:
    try:
        open(path, "w").close()
        print("written")
    except OSError as error:
        print(error.strerror)
"""


@pytest.fixture
def anybodys() -> Iterator[Path]:
    """A folder of the system's disk that the modes alone would let everybody write."""
    folder = Path(tempfile.mkdtemp(prefix="gc-test-", dir="/var/cache"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def in_child(act: Callable[[], Any]) -> Any:
    """What it returns, from a process that ends with all that it has changed of itself."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(told)


def write(path: Path | str) -> str:
    try:
        Path(path).write_text("")
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "written"


@pytest.mark.parametrize("refused", [errno.ENOSYS, errno.EPERM])
def test_an_old_kernel_makes_each_mount_read_only_by_itself(
    ground: Path, anybodys: Path, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    def set_read_only_below(path: str) -> None:
        raise OSError(refused, os.strerror(refused))

    monkeypatch.setattr(shim_sandbox, "set_read_only_below", set_read_only_below)
    (ground / "out").mkdir()

    def look() -> dict[str, Any]:
        missing = shim_sandbox.enter_sandbox({"hidden": [], "shown": []}, str(ground / "out"))
        os.setresuid(UID, UID, UID)
        return {
            "missing": missing,
            "system": write(anybodys / "x"),
            "null": write("/dev/null"),
            "tmp": write("/tmp/x"),
        }

    assert in_child(look) == {"missing": {}, "system": "EROFS", "null": "written", "tmp": "written"}


def test_what_the_machine_refuses_is_noted_and_the_job_runs_without_it(
    process_bench: Bench, anybodys: Path
) -> None:
    """As in a container without the right to mount."""

    class WithoutMounts(DetachedShimStarter):
        def start_shim(self, shim: Path, folder: Path) -> dict[str, Any]:
            fewer = ["setpriv", "--bounding-set", "-sys_admin", PYTHON, "-I", "-S", str(shim), str(folder)]
            done = subprocess.run(fewer, stdout=subprocess.PIPE, check=True)
            answer: dict[str, Any] = json.loads(done.stdout)
            return answer

    ground = process_bench.ground
    executor = ProcessExecutor(process_bench.stage.runtime, ground / "storage", WithoutMounts())
    bench = Bench(process_bench.stage, executor)
    plan = bench.script(WRITES, sandbox=SandboxSpec((), (), UIDS))
    plan = bench.plan(
        *plan.program.argv[3:], str(anybodys / "x"), code=plan.program.code, sandbox=plan.sandbox
    )
    assert bench.run(plan).exit_code == 0
    assert bench.log(plan) == b"written\n"
    noted = bench.shim_log(plan)
    for power in shim_sandbox.FEATURES:
        assert f"not confined, {power}: " in noted
    shim_cloud_metadata.unblock_cloud_metadata(*UIDS)


def test_who_is_root_enforces_what_a_normal_user_cannot(process_bench: Bench) -> None:
    executor = process_bench.executor
    assert isinstance(executor, ProcessExecutor)
    powers = executor.read_confinement(UIDS)
    assert powers["root"] and not powers["refused"]
    assert list_confinement_gaps(powers) == ()
    assert shim_cloud_metadata.unblock_cloud_metadata(*UIDS) is None
    command = [PYTHON, "-I", "-S", str(executor.shim.with_name("shim_confinement.py")), *map(str, UIDS)]
    asked = subprocess.run(command, user=UID, group=UID, extra_groups=[], stdout=subprocess.PIPE, check=True)
    weaker = json.loads(asked.stdout)
    assert not any(weaker[name] for name in GAP_CODES)
    codes = [each.code for each in list_confinement_gaps(weaker)]
    assert codes == ["confinement.without_root", "confinement.no_stop"]


def connect(address: str, port: int, uid: int) -> Any:
    """A datagram socket asks the routing, and sends nothing."""

    def ask() -> str | None:
        os.setresuid(uid, uid, uid)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as one:
                one.connect((address, port))
        except OSError as error:
            return errno.errorcode[error.errno or 0]
        return None

    return in_child(ask)


def test_metadata_addresses_are_closed_to_jobs_alone_and_opened_again() -> None:
    """In a network of its own, which nothing leaves."""

    def look() -> dict[str, Any]:
        shim_sandbox.check_libc(shim_sandbox.libc.unshare(CLONE_NEWNET), "unshare")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["ip", "route", "add", "169.254.0.0/16", "dev", "lo"], check=True)
        told: dict[str, Any] = {
            "made": [
                shim_cloud_metadata.block_cloud_metadata(*UIDS),
                shim_cloud_metadata.block_cloud_metadata(*UIDS),
            ]
        }
        told["rules"] = subprocess.run(
            ["ip", "rule"], check=True, capture_output=True, text=True
        ).stdout.count("uidrange 190000-190099")
        told["job"] = [connect(address, 80, UIDS[0]) for address in ("169.254.169.254", "169.254.0.9")]
        told["last job"] = connect("169.254.169.254", 80, UIDS[1])
        told["others"] = [connect("169.254.169.254", 80, uid) for uid in (0, 1000, UIDS[1] + 1)]
        told["names"] = connect("169.254.169.254", 53, UIDS[0])
        told["elsewhere"] = [connect("127.0.0.1", 80, UIDS[0]), connect("192.0.2.1", 80, UIDS[0])]
        told["version 6"] = connect("fd00:ec2::254", 80, UIDS[0])
        told["link-local 6"] = connect("fe80::1%lo", 80, UIDS[0]) != "EACCES"
        told["opened"] = [
            shim_cloud_metadata.unblock_cloud_metadata(*UIDS),
            shim_cloud_metadata.unblock_cloud_metadata(*UIDS),
        ]
        told["then"] = connect("169.254.169.254", 80, UIDS[0])
        return told

    assert in_child(look) == {
        "made": [None, None],
        "rules": 2,
        "job": ["EACCES", "EACCES"],
        "last job": "EACCES",
        "others": [None] * 3,
        "names": None,
        "elsewhere": [None, "ENETUNREACH"],
        "version 6": "EACCES",
        "link-local 6": True,
        "opened": [None, None],
        "then": None,
    }


@pytest.mark.parametrize(
    ("release", "knows"),
    [
        ("4.15.0-213-generic", False),
        ("4.17.0", True),
        ("5.10", True),
        ("6.18.44-fc", True),
        ("3.10.0", False),
    ],
)
def test_a_kernel_that_does_not_know_ports_gets_no_exception_from_the_rule(release: str, knows: bool) -> None:
    assert shim_cloud_metadata.has_port_rules(release) is knows
