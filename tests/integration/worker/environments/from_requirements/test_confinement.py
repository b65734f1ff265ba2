"""What build scripts leave running is ended, and so are those that take too long or too much."""

import time
from dataclasses import replace

import pytest

from tests.integration.worker.environments.from_requirements.build_lab import IDS, Lab, only_as_root
from tests.integration.worker.environments.from_requirements.package_folder import add_source
from worker.environments.from_requirements.confinement import has_processes

MIB = 1024**2


@only_as_root
def test_what_a_build_script_leaves_running_is_ended(lab: Lab) -> None:
    script = """
for number in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        import ctypes, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(4, 0)
        os.close(1); os.close(2)
        time.sleep(600)
"""
    add_source(lab.packages, "daemon", "1.0", script)
    lab.build("daemon\n", builds_sources=True)
    assert IDS is not None and not has_processes(IDS.uid)


@only_as_root
@pytest.mark.parametrize(
    ("script", "limits", "code"),
    [
        pytest.param("while True: pass", {"seconds": 4.0}, "environment.too_slow", id="computes"),
        pytest.param(
            "import time\ntime.sleep(600)",
            {"seconds": 4.0},
            "environment.too_slow",
            id="sleeps",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "import time\nfor n in range(60): open('fill%d' % n, 'wb').write(bytes(1024**2)); time.sleep(0.2)",
            {"disk_bytes": 30 * MIB},
            "environment.too_large",
            id="many files",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "open('one', 'wb').write(bytes(20 * 1024**2))",
            {"file_bytes": 10 * MIB},
            "environment.source_build_failed",
            id="one large file",
        ),
        pytest.param(
            "found['x'] = len(bytearray(3 * 1024**3))",
            {"memory_bytes": 2048 * MIB},
            "environment.source_build_failed",
            id="memory",
        ),
        pytest.param("raise SystemExit('no')", {}, "environment.source_build_failed", id="fails"),
    ],
)
def test_a_build_script_that_does_not_end_well_is_ended_and_named(
    lab: Lab, script: str, limits: dict[str, object], code: str
) -> None:
    add_source(lab.packages, "endless", "1.0", script)
    lab.limits = replace(lab.limits, **limits)
    begun = time.monotonic()
    refusal = lab.refusal("lower\nendless\n", builds_sources=True)
    assert refusal.code == code, refusal
    if code == "environment.source_build_failed":
        assert refusal.data["line"] == 2
    assert time.monotonic() - begun < 60
