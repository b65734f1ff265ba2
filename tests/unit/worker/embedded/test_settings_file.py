"""The settings file keeps secrets and administrators' changes from one start to the next."""

from pathlib import Path

import pytest

from cluster.settings import Settings
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.settings_file import ensure_settings_file, read_settings_file, write_settings_file


@pytest.fixture
def places(tmp_path: Path) -> InstallationPaths:
    return InstallationPaths(tmp_path / "clone", tmp_path, tmp_path / "cache")


def test_the_first_run_writes_settings_that_the_services_can_read(places: InstallationPaths) -> None:
    settings = Settings.from_environment(ensure_settings_file(places, None))
    assert settings.port == 8470
    assert settings.database_url == f"sqlite:///{places.database_file}"
    assert len(settings.secret_key) >= 64
    assert places.settings_file.stat().st_mode & 0o777 == 0o600


def test_a_second_run_keeps_the_secret_and_the_port(places: InstallationPaths) -> None:
    first = ensure_settings_file(places, 9000)
    assert ensure_settings_file(places, None) == first == read_settings_file(places.settings_file)
    assert first["GROUNDCREW_PUBLIC_URL"] == "http://127.0.0.1:9000"


def test_what_a_person_wrote_stays(places: InstallationPaths) -> None:
    ensure_settings_file(places, None)
    with places.settings_file.open("a") as file:
        file.write("# ours\nGROUNDCREW_CPU_SLOTS=4\n")
    ensure_settings_file(places, 9001)
    text = places.settings_file.read_text()
    assert "# ours\nGROUNDCREW_CPU_SLOTS=4\n" in text
    assert text.count("GROUNDCREW_PORT=") == 1
    assert read_settings_file(places.settings_file)["GROUNDCREW_PORT"] == "9001"


def test_another_database_and_another_public_address_stay(places: InstallationPaths) -> None:
    ours = "postgresql+psycopg://groundcrew@/groundcrew"
    ensure_settings_file(places, None)
    write_settings_file(
        places.settings_file,
        {"GROUNDCREW_DATABASE_URL": ours, "GROUNDCREW_PUBLIC_URL": "https://gpu.example"},
    )
    settings = ensure_settings_file(places, 9001)
    assert settings["GROUNDCREW_DATABASE_URL"] == ours
    assert settings["GROUNDCREW_PUBLIC_URL"] == "https://gpu.example"


def test_a_value_may_hold_an_equals_sign(tmp_path: Path) -> None:
    write_settings_file(tmp_path / "groundcrew.env", {"GROUNDCREW_SECRET_KEY": "a=b=="})
    assert read_settings_file(tmp_path / "groundcrew.env") == {"GROUNDCREW_SECRET_KEY": "a=b=="}


def test_another_address_means_tls_until_it_is_taken_back(places: InstallationPaths) -> None:
    plain = ensure_settings_file(places, 9000)
    assert "GROUNDCREW_TLS_DIR" not in plain
    told = Settings.from_environment(ensure_settings_file(places, None, "10.0.0.10"))
    assert (told.host, told.public_url) == ("10.0.0.10", "https://10.0.0.10:9000")
    assert told.tls_dir == places.tls_dir
    assert (
        Settings.from_environment(ensure_settings_file(places, 9001)).public_url == "https://10.0.0.10:9001"
    )
    back = Settings.from_environment(ensure_settings_file(places, None, "127.0.0.1"))
    assert (back.host, back.public_url, back.tls_dir) == ("127.0.0.1", "http://127.0.0.1:9001", None)
