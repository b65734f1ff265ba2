"""Environments are built from requirements, and a build that does not end leaves nothing."""

import os
import stat
import subprocess

import pytest

from cluster.files import safe_files
from tests.integration.worker.environments.from_requirements.build_lab import IDS, IS_ROOT, UV, Lab
from tests.integration.worker.environments.from_requirements.package_folder import add_source, add_wheel
from worker.environments.errors import BuildFailed
from worker.environments.from_requirements.build import build_from_requirements, remove_environment
from worker.environments.from_requirements.orders import BuildRules, EnvironmentOrder
from worker.environments.from_requirements.package_source import PackageSource


def test_versions_are_chosen_pinned_and_installed_for_everybody_to_read(lab: Lab) -> None:
    steps: list[str] = []
    built = lab.build("upper\n", lambda step, share, detail: steps.append(step))
    assert [part.line[:2] for part in built.files.contents[1:]] == [("lower", "1.5"), ("upper", "2.0")]
    assert built.files.contents[0].library == "python" and built.files.size > 0
    assert built.pins.count("--hash=sha256:") == 2 and "upper==2.0" in built.pins
    assert list(dict.fromkeys(steps)) == ["resolve", "install", "verify", "contents"]
    program = "import upper, lower; print(upper.VERSION, lower.VERSION)"
    run = [lab.target / "bin" / "python", "-I", "-c", program]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "2.0 1.5\n"
    for path in lab.target.rglob("*"):
        found = path.lstat()
        assert found.st_uid == os.geteuid(), path
        assert stat.S_ISLNK(found.st_mode) or stat.S_IMODE(found.st_mode) in (0o755, 0o644), path
    again = lab.build("upper\n", pins=built.pins)
    assert (again.digest, again.pins) == (built.digest, built.pins)
    assert lab.build("upper==1.0\n").digest != built.digest
    remove_environment(lab.target)
    assert [path.name for path in (lab.state / "environments").iterdir()] == [".training.lock"]


def test_sources_are_built_only_if_that_was_asked_for(lab: Lab) -> None:
    add_source(lab.packages, "fromsource", "1.0", "pass")
    refusal = lab.refusal("fromsource\n")
    assert (refusal.code, refusal.data["line"]) == ("environment.needs_source", 1)
    if not IS_ROOT:
        assert lab.refusal("fromsource\n", builds_sources=True).code == "environment.sources_need_root"


def test_a_python_that_the_machine_lacks_is_named(lab: Lab) -> None:
    refusal = lab.refusal("lower\n", python="3.99")
    assert (refusal.code, refusal.data["version"]) == ("environment.python_missing", "3.99")


def test_a_build_that_is_cancelled_leaves_nothing(lab: Lab) -> None:
    class Cancelled(Exception):
        pass

    def report(step: str, share: float, detail: str) -> None:
        if step == "install":
            raise Cancelled

    with pytest.raises(Cancelled):
        lab.build("upper\n", report)
    assert [path.name for path in (lab.state / "environments").iterdir()] == [".training.lock"]


def test_a_build_that_ends_while_its_environment_is_deleted_leaves_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled build notices it within seconds. Until then it may still put in place what it has built."""
    building, remove = lab.target.with_name("7.building"), safe_files.remove_tree
    (building / "environment").mkdir(parents=True)

    def remove_and_let_it_end(parent: int, name: str) -> bool:
        removed = remove(parent, name)
        if (building / "environment").exists():
            (building / "environment").rename(lab.target)
        return removed

    monkeypatch.setattr(safe_files, "remove_tree", remove_and_let_it_end)
    remove_environment(lab.target)
    assert list(lab.target.parent.iterdir()) == []


@pytest.mark.long
def test_a_password_of_the_index_is_in_no_log(lab: Lab) -> None:
    source = PackageSource("http://user:open-sesame-42@127.0.0.1:9/simple/", lab.packages)
    rules = BuildRules(source, IDS, (lab.state,), lab.limits)
    with pytest.raises(BuildFailed) as failure:
        build_from_requirements(
            EnvironmentOrder(lab.target, "no-such-thing\n"), rules, lambda *_: None, uv=UV, log=lab.log
        )
    assert failure.value.code == "environment.no_network", failure.value
    assert "open-sesame" not in lab.log.read_text() + str(failure.value)


def test_a_copy_of_another_environment_gets_packages_on_top(lab: Lab) -> None:
    lab.build("upper\n")
    base = lab.target.with_name("base")
    lab.target.rename(base)
    add_wheel(lab.packages, "lower", "2.0")
    add_wheel(lab.packages, "needy", "1.0", needs="no-such-thing")
    built = lab.build("lower==2.0\nneedy==1.0\n", base=base, base_digest="b" * 64)
    assert [part.line[:2] for part in built.files.contents[1:]] == [
        ("lower", "2.0"),
        ("needy", "1.0"),
        ("upper", "2.0"),
    ]
    assert "upper" not in built.pins and built.pins.count("--hash=sha256:") == 2
    program = "import upper, lower; print(upper.VERSION, lower.VERSION)"
    for environment, said in ((lab.target, "2.0 2.0\n"), (base, "2.0 1.5\n")):
        run = [environment / "bin" / "python", "-I", "-c", program]
        assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == said
    for path in lab.target.rglob("*"):
        assert path.lstat().st_uid == os.geteuid(), path
    other = lab.build("lower==2.0\nneedy==1.0\n", base=base, base_digest="c" * 64)
    assert other.digest != built.digest and other.pins == built.pins
    refusal = lab.refusal("lower\n", base=base.with_name("gone"))
    assert refusal.code == "environment.base_gone"
