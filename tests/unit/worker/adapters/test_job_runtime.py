"""The job runtime is installed whole, once per content, for every user to read."""

from pathlib import Path

from worker.adapters.job_runtime import install_runtime


def test_a_job_finds_the_helper_and_the_models_in_the_installed_folder(tmp_path: Path) -> None:
    runtime = install_runtime(tmp_path / "runtime")
    assert (runtime / "groundcrew_job.py").is_file()
    assert (runtime / "groundcrew_models" / "lenet.py").is_file()
    assert not (runtime / "__init__.py").exists()


def test_every_user_may_read_what_is_installed(tmp_path: Path) -> None:
    runtime = install_runtime(tmp_path / "runtime")
    for each in (runtime, *runtime.rglob("*")):
        assert each.stat().st_mode & 0o777 == (0o755 if each.is_dir() else 0o644)


def test_installing_again_changes_nothing_and_sweeps_what_a_killed_run_left(tmp_path: Path) -> None:
    first = install_runtime(tmp_path)
    assert install_runtime(tmp_path) == first
    first.rename(tmp_path / "moved")
    (tmp_path / ".copying").mkdir()
    (tmp_path / ".copying" / "half").write_text("")
    assert install_runtime(tmp_path) == first
    assert sorted(first.rglob("*.py")) and not (first / "half").exists()
