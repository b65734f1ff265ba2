"""Settings are read once from the environment, and a wrong or missing one stops the start."""

import re
from pathlib import Path

import pytest

from cluster.settings import Settings
from cluster.settings_reader import PREFIX, MissingSettings

ROOT = Path(__file__).parents[3]
ENOUGH = {
    f"{PREFIX}STATE_DIR": "/state",
    f"{PREFIX}CACHE_DIR": "/cache",
    f"{PREFIX}DATABASE_URL": "sqlite:////state/g.db",
    f"{PREFIX}REDIS_URL": "unix:///state/r.sock",
    f"{PREFIX}SECRET_KEY": "secret",
}


def test_every_setting_that_is_read_is_documented_and_the_other_way_round() -> None:
    source = (ROOT / "cluster" / "settings.py").read_text()
    read = set(
        re.findall(
            r"(?:text|required|required_by|number|choice|zone|folder|folders|time_of_day|place|address|export|hosts|notebook_address|networks|id_base|bytes_or_none|recipient|index)"
            r'\)?\("([A-Z_]+)"',
            source,
        )
    )
    read |= set(re.findall(r'PREFIX \+ "([A-Z_]+)"', source))
    documented = set(
        re.findall(r"^\| `GROUNDCREW_([A-Z_]+)`", (ROOT / "docs/topic/settings.md").read_text(), re.M)
    )
    assert read == documented


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(MissingSettings) as missing:
        Settings.from_environment({f"{PREFIX}PORT": "http", f"{PREFIX}TIME_ZONE": "Mars/Base"})
    named = set(missing.value.data["names"])
    assert named == {*ENOUGH, f"{PREFIX}PORT", f"{PREFIX}TIME_ZONE"}


def test_no_secret_has_a_default() -> None:
    with pytest.raises(MissingSettings):
        Settings.from_environment({key: value for key, value in ENOUGH.items() if "SECRET" not in key})


def test_what_may_hold_a_password_is_never_shown_with_the_rest() -> None:
    secret = {
        "SECRET_KEY": "canary",
        "AUDIT_KEY": "canary",
        "METRICS_TOKEN": "canary",
        "DATABASE_URL": "postgresql+psycopg://groundcrew:canary@db/groundcrew",
        "REDIS_URL": "unix://portal:canary@/run/redis.sock",
        "MAIL_URL": "smtp://groundcrew:canary@mail",
        "MAIL_FROM": "groundcrew@lab.example",
        "WEBHOOK_URL": "https://chat.lab.example/canary",
        "WEBHOOK_SECRET": "canary",
    }
    settings = Settings.from_environment(ENOUGH | {PREFIX + name: value for name, value in secret.items()})
    assert "canary" not in repr(settings)


def test_what_is_said_is_used_and_the_rest_has_its_default() -> None:
    more = {f"{PREFIX}PORT": "8471", f"{PREFIX}UNICODE_FILE_NAMES": "yes", f"{PREFIX}DATASET_ROOTS": "/a::/b"}
    settings = Settings.from_environment(ENOUGH | more)
    assert settings.public_url == "http://127.0.0.1:8471"
    assert settings.unicode_file_names is True
    assert settings.dataset_roots == (Path("/a"), Path("/b"))
    assert (settings.executor, settings.password_policy, settings.cpu_slots) == ("process", "asvs", 2)
    assert settings.storage_dir == Path("/state/storage")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EXECUTOR", "magic"),
        ("KUBERNETES_STORAGE", "/export"),
        ("KUBERNETES_STORAGE", "nas01"),
        ("KUBERNETES_STORAGE", ":/export"),
        ("PASSWORD_POLICY", "none"),
        ("CPU_SLOTS", "-1"),
        ("BACKUP_AT", "25:00"),
        ("BACKUP_COPY", "--rsh=sh"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(MissingSettings) as missing:
        Settings.from_environment(ENOUGH | {PREFIX + name: value})
    assert missing.value.data["names"] == [PREFIX + name]


@pytest.mark.parametrize(("text", "kept"), [("", None), ("0", 0), ("1048576", 1_048_576)])
def test_the_reserve_of_disks_is_a_number_or_left_to_the_disk(text: str, kept: int | None) -> None:
    settings = Settings.from_environment(ENOUGH | {f"{PREFIX}DISK_RESERVE_BYTES": text})
    assert settings.disk_reserve_bytes == kept
    with pytest.raises(MissingSettings):
        Settings.from_environment(ENOUGH | {f"{PREFIX}DISK_RESERVE_BYTES": "1 GiB"})


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("", True),
        ("age1" + "q" * 58, True),
        ("age1" + "q" * 57, False),
        ("AGE-SECRET-KEY-1" + "Q" * 58, False),
        ("--output", False),
    ],
)
def test_a_recovery_key_is_the_public_half(text: str, is_good: bool) -> None:
    environment = ENOUGH | {f"{PREFIX}BACKUP_RECIPIENT": text}
    if is_good:
        assert Settings.from_environment(environment).backup_recipient == text
        return
    with pytest.raises(MissingSettings) as missing:
        Settings.from_environment(environment)
    assert missing.value.data["names"] == [f"{PREFIX}BACKUP_RECIPIENT"]
