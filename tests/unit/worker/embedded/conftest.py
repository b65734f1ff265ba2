"""The folders of an embedded installation that has not been started."""

from pathlib import Path

import pytest

from worker.bootstrap.paths import InstallationPaths
from worker.embedded.state_directory import ensure_state_directory
from worker.embedded.supervisor import render_supervisor_configuration


@pytest.fixture
def places(tmp_path: Path) -> InstallationPaths:
    places = InstallationPaths(tmp_path / "clone", tmp_path / "state", tmp_path / "cache")
    for folder in ("cluster", "portal", "worker", "docs/howto"):
        (places.clone / folder).mkdir(parents=True)
    ensure_state_directory(places)
    places.settings_file.write_text("GROUNDCREW_PORT=8470\n")
    places.supervisor_file.write_text(render_supervisor_configuration(places))
    return places
