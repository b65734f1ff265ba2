"""Building an environment: once, whole, and again after whatever happened to it."""

import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.unit.worker.environments.fake_tools import Site, sums
from worker.environments.build import build_environment
from worker.environments.errors import PythonUnsupported, ToolsMissing
from worker.environments.manifest import (
    MANIFEST,
    is_environment_ready,
    read_environment_contents,
    read_environment_variables,
)


class Interrupted(Exception):
    """What a task raises when it has lost its lease."""


def entries(site: Site) -> set[str]:
    return {path.name.split("-")[0] for path in site.cache.iterdir()}


def test_a_build_leaves_a_whole_environment_and_the_wheels(site: Site) -> None:
    environment = site.build()
    assert is_environment_ready(environment)
    assert read_environment_contents(environment) == [
        ("python", "3.11.2", "purpose.language"),
        ("six", "1.17.0", "purpose.arrays"),
    ]
    assert read_environment_variables(environment) == {"TF_USE_LEGACY_KERAS": "1"}
    assert set(sums(site)) == {"six-1.17.0-py2.py3-none-any.whl", "slow-1.0.tar.gz"}
    assert entries(site) == {"training", "wheels", ".training.lock"}
    assert not list(site.cache.glob("*.building")) + list(site.cache.glob("*.partial"))


def test_the_second_build_does_nothing(site: Site) -> None:
    environment = site.build()
    calls = site.calls("uv ")
    reports = len(site.reports)
    assert site.build() == environment
    assert (site.calls("uv "), len(site.reports)) == (calls, reports)


def test_the_steps_come_in_their_order_and_never_go_back(site: Site) -> None:
    site.build()
    steps = list(dict.fromkeys(step for step, _, _ in site.reports))
    assert steps == ["check_tools", "download", "install", "compile_horovod", "verify", "contents"]
    for step in steps:
        shares = [share for name, share, _ in site.reports if name == step]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
    assert any(step == "compile_horovod" and detail == "mpi_ops.cc" for step, _, detail in site.reports)
    assert any("six-1.17.0" in detail for _, _, detail in site.reports)


def test_a_lost_environment_comes_back_without_network_and_compiler(site: Site) -> None:
    environment = site.build()
    (environment / MANIFEST).unlink()
    assert not is_environment_ready(environment)
    site.trouble("no_network")
    site.trouble("bad_code")
    assert site.build() == environment
    assert is_environment_ready(environment)


def test_what_a_machine_of_the_same_kind_compiled_is_not_compiled_again(site: Site) -> None:
    site.build()
    (wheels,) = site.cache.glob("wheels-*")
    offered = site.folder / "compiled"
    (offered / wheels.name).mkdir(parents=True)
    (wheels / "slow-1.0-py3-none-any.whl").rename(offered / wheels.name / "slow-1.0-py3-none-any.whl")
    shutil.rmtree(site.cache)
    site.trouble("bad_code")
    assert is_environment_ready(site.build(offered))


def test_what_a_machine_of_another_kind_compiled_is_left_alone(site: Site) -> None:
    offered = site.folder / "compiled"
    (offered / "wheels-000000000000").mkdir(parents=True)
    (offered / "wheels-000000000000/slow-1.0-py3-none-any.whl").write_text("for another processor")
    site.build(offered)
    assert site.calls("pip wheel") == 1


def test_every_user_may_run_what_was_built(site: Site) -> None:
    environment = site.build()
    for path in (environment, *environment.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o044 == 0o044, path
        assert not mode & 0o022, path
        if path.is_dir() or mode & 0o100:
            assert mode & 0o055 == 0o055, path
    assert stat.S_IMODE(site.cache.stat().st_mode) == 0o755


def test_interrupted_at_any_report_the_next_build_converges(site: Site) -> None:
    """The report raises at its first call, its second, and so on, until a build gets through to its end."""
    interruptions = 0
    while True:
        left = interruptions

        def report(step: str, share: float, detail: str) -> None:
            nonlocal left
            if left == 0:
                raise Interrupted
            left -= 1

        try:
            environment = _with_report(site, report).build()
        except Interrupted:
            finished = [path for path in site.cache.glob("training-*") if path.suffix != ".building"]
            assert all(is_environment_ready(path) for path in finished)
            interruptions += 1
            continue
        break
    assert interruptions > 8
    assert is_environment_ready(environment)
    assert entries(site) == {"training", "wheels", ".training.lock"}
    assert site.calls("pip wheel") <= 4


def test_of_two_builds_at_once_one_waits(site: Site) -> None:
    built: list[Path] = []
    threads = [threading.Thread(target=lambda: built.append(site.build())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(built) == 2
    assert built[0] == built[1]
    assert site.calls("pip wheel") == 1
    assert ("wait", 0.0, "") in site.reports


def test_a_killed_build_leaves_no_compiler_running(site: Site) -> None:
    site.trouble("endless")
    program = (
        "from pathlib import Path\n"
        "from tests.unit.worker.environments.fake_tools import Site\n"
        f"Site(Path({str(site.folder)!r})).build()\n"
    )
    builder = subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[4])
    try:
        until(lambda: site.calls("pip wheel") == 1)
        until(lambda: len(compilers(site)) >= 3)
    finally:
        builder.kill()
        builder.wait()
    assert compilers(site)
    site.no_trouble("endless")
    assert is_environment_ready(site.build())
    until(lambda: not compilers(site))


def test_an_interrupted_compiler_is_ended_with_all_its_children(site: Site) -> None:
    site.trouble("endless")

    def report(step: str, share: float, detail: str) -> None:
        if step == "compile_horovod" and share and len(compilers(site)) >= 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        _with_report(site, report).build()
    until(lambda: not compilers(site))


def test_a_damaged_wheel_is_fetched_again(site: Site) -> None:
    environment = site.build()
    (wheel,) = site.cache.glob("wheels-*/six-*.whl")
    wheel.write_text("half")
    (environment / MANIFEST).unlink()
    site.build()
    assert wheel.read_text() == "the wheel of six\n"
    assert site.calls("only-binary :all: --progress-bar") == 2


def test_a_damaged_compiled_wheel_is_compiled_again(site: Site) -> None:
    environment = site.build()
    (wheel,) = site.cache.glob("wheels-*/slow-*.whl")
    wheel.write_text("half")
    (environment / MANIFEST).unlink()
    site.build()
    assert wheel.read_text() == "compiled\n"
    assert site.calls("pip wheel") == 2


def test_without_its_interpreter_an_environment_is_not_ready(site: Site) -> None:
    environment = site.build()
    (environment / "bin" / "python").unlink()
    assert not is_environment_ready(environment)
    assert is_environment_ready(site.build())


def test_an_environment_in_another_place_is_not_ready(site: Site) -> None:
    environment = site.build()
    moved = environment.rename(environment.with_name("training-000000000000"))
    assert not is_environment_ready(moved)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root builds for other users")
def test_root_tries_the_environment_as_a_user_without_rights(site: Site) -> None:
    site.python.write_text(
        site.python.read_text().replace("*horovod*)", '*horovod*) [ "$(id -u)" = 65534 ] || exit 9;')
    )
    assert is_environment_ready(site.build())


@pytest.mark.parametrize("python", ["/no/such/python", "an old one"])
def test_without_a_python_that_would_do_nothing_begins(site: Site, python: str) -> None:
    if python == "an old one":
        python = str(site.python)
        site.python.write_text("""#!/bin/sh\necho '{"version": "3.8", "include": "", "library": ""}'\n""")
    with pytest.raises((ToolsMissing, PythonUnsupported)):
        build_environment(
            site.description, site.cache, site.report, uv=site.uv, log=site.log, python=Path(python)
        )
    assert not site.cache.exists()


def compilers(site: Site) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("GROUNDCREW_BUILD", "").startswith(str(site.cache)):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def until(condition: object, seconds: float = 60.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(0.05)


def _with_report(site: Site, report: object) -> Site:
    other = Site(site.folder)
    other.report = report  # type: ignore[assignment]
    return other
