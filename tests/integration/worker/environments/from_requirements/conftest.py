"""The folders of a test, which everybody may enter, with three packages."""

from pathlib import Path

import pytest

from tests.integration.worker.environments.from_requirements.build_lab import Lab
from tests.integration.worker.environments.from_requirements.package_folder import add_wheel


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    state, packages = tmp_path / "state", tmp_path / "packages"
    for folder in (tmp_path, state, packages):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
    (state / "secret").write_text("the secret key")
    add_wheel(packages, "upper", "1.0")
    add_wheel(packages, "upper", "2.0", needs="lower>=1")
    add_wheel(packages, "lower", "1.5")
    return Lab(state, packages)
