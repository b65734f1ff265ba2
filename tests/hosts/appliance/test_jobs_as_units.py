"""The contract suite of the process executor on a host where systemd is process 1: each attempt a transient unit."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.appliance.installer.ansible_runs import CACHE, ROOT
from tests.hosts.machines import testbed as testbeds
from tests.hosts.machines.testbed import Testbed, quoted
from tests.machine.fork_chains import LENT, compile_burst
from worker.environments.editor_environment import build_editor
from worker.tasks.environments import find_uv

SUITE = "tests/integration/worker/executors"
OTHERS = "not docker and not simulated"
"""Executors that have their own place in this suite."""
NOT_ON_THIS_HOST = (
    "no memory cgroup to write to, or the kernel's log does not name our processes",
    "nobody stands between us and this executor who could be silent",
)
"""Why a case is skipped: the kernel's log is not to be had in a container, and no network leads to this executor."""


@pytest.fixture(scope="module")
def bed(image: str) -> Iterator[Testbed]:
    """With a name of its own."""
    with testbeds.testbed("gc-hosts-units", image, CACHE) as bed:
        yield bed


@pytest.mark.long
def test_the_contract_of_the_process_executor_holds_for_transient_units(bed: Testbed) -> None:
    """The host reads this checkout and the tests' own environment, which starts with the distribution's Python."""
    folder = bed.folder / "burst"
    folder.mkdir()
    program = compile_burst(folder)
    assert program is not None
    editor = build_editor(CACHE, lambda step, share, detail: None, uv=find_uv(), log=folder / "editor.log")
    (host,) = bed.add("one", lent=(ROOT, Path(sys.prefix), editor, folder))
    words = [
        *(sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        SUITE,
        "-k",
        OTHERS,
        "-m",
        "",
    ]
    words += [f"--ignore={SUITE}/test_{name}.py" for name in ("docker", "simulated", "shim_fork_client")]
    done = host.run(f"cd {ROOT} && GROUNDCREW_TEST_LAUNCHER=systemd {LENT}={program} {quoted(*words)}")
    counted = re.search(r"^(\d+) passed", done.stdout, re.M)
    assert done.returncode == 0 and counted, done.stdout[-6000:]
    assert int(counted[1]) > 90, done.stdout[-500:]
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert all(line.startswith("SKIPPED [1]") and line.endswith(NOT_ON_THIS_HOST) for line in skipped), (
        skipped
    )
    assert host.ask("systemctl list-units --all --no-legend --plain 'gc-*'") == ""
    began = host.ask("journalctl --output=cat --no-pager | grep -c 'Started gc-.*Groundcrew job' || true")
    assert int(began) >= 20
