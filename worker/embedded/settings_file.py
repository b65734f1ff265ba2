"""The settings of the embedded installation: one file of GROUNDCREW_ lines that a person may edit."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from cluster.files.atomic import UNFINISHED, write_atomically
from cluster.settings import Settings
from cluster.settings_reader import MissingSettings
from worker.bootstrap.paths import InstallationPaths, find_installation_paths
from worker.bootstrap.terminal import exit_with_error
from worker.embedded.uid_ranges import choose_id_base

DEFAULT_PORT = 8470
LOOPBACK = "127.0.0.1"
HEADER = "# Settings of this installation; make up reads them and adds what is missing. Keep it private.\n"
LOCALTIME = Path("/etc/localtime")


def read_settings_file(file: Path) -> dict[str, str]:
    """Reads the lines NAME=value without comments and empty lines. Empty if there is no file yet."""
    if not file.exists():
        return {}
    values = {}
    for line in file.read_text().splitlines():
        name, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            values[name.strip()] = value.strip()
    return values


def ensure_settings_file(
    places: InstallationPaths, port: int | None, host: str | None = None
) -> dict[str, str]:
    """Add what is missing, change port and address if they were asked for, leave every other line as it is."""
    file = places.settings_file
    settings = read_settings_file(file)
    old_port = settings.get("GROUNDCREW_PORT", str(DEFAULT_PORT))
    new_port = str(port or old_port)
    old_host = settings.get("GROUNDCREW_HOST", LOOPBACK)
    new_host = host or old_host
    fixed = {
        "GROUNDCREW_STATE_DIR": str(places.state_dir),
        "GROUNDCREW_CACHE_DIR": str(places.cache_dir),
        "GROUNDCREW_REDIS_URL": f"unix://{places.redis_socket}",
        "GROUNDCREW_HOST": new_host,
        "GROUNDCREW_PORT": new_port,
        "GROUNDCREW_BEHIND_PROXY": "yes",
    }
    fixed["GROUNDCREW_ANSIBLE_DIR"] = str(places.clone / "ansible")
    if new_host != LOOPBACK:
        fixed["GROUNDCREW_TLS_DIR"] = str(places.tls_dir)
    elif settings.get("GROUNDCREW_TLS_DIR") == str(places.tls_dir):
        fixed["GROUNDCREW_TLS_DIR"] = ""
    before = build_portal_url(old_host, old_port)
    if settings.get("GROUNDCREW_PUBLIC_URL", before) == before:
        fixed["GROUNDCREW_PUBLIC_URL"] = build_portal_url(new_host, new_port)
    first = {
        "GROUNDCREW_DATABASE_URL": f"sqlite:///{places.database_file}",
        "GROUNDCREW_SECRET_KEY": secrets.token_urlsafe(48),
        "GROUNDCREW_TIME_ZONE": read_machine_time_zone(),
        "GROUNDCREW_BACKUPS_DIR": str(default_backups_dir(places)),
        "GROUNDCREW_BACKUP_AT": "03:00",
    }
    if not settings:
        base = str(choose_id_base(places))
        first |= {"GROUNDCREW_UID_BASE": base, "GROUNDCREW_GID_BASE": base}
    changed = {name: value for name, value in fixed.items() if settings.get(name) != value}
    changed.update({name: value for name, value in first.items() if name not in settings})
    if changed:
        write_settings_file(file, changed)
    return {**settings, **changed}


def build_portal_url(host: str, port: str) -> str:
    """Builds an address with TLS unless it is loopback, because passwords would cross the network unencrypted."""
    return f"{'http' if host == LOOPBACK else 'https'}://{host}:{port}"


def write_settings_file(file: Path, changed: Mapping[str, str]) -> None:
    """Replace the lines of these names and append new ones; the file appears whole or not at all."""
    left = dict(changed)
    lines = []
    for line in file.read_text().splitlines(keepends=True) if file.exists() else [HEADER]:
        name = line.partition("=")[0].strip()
        lines.append(f"{name}={left.pop(name)}\n" if name in left else line)
    lines += [f"{name}={value}\n" for name, value in left.items()]
    for left_by_a_killed_run in file.parent.glob(f".{file.name}.*{UNFINISHED}"):
        left_by_a_killed_run.unlink(missing_ok=True)
    write_atomically(file, "".join(lines))


def default_backups_dir(places: InstallationPaths) -> Path:
    """The folder for backups. It lies in the clone, so that `make reset` does not delete it, or in the state directory
    if the clone belongs to another user.
    """
    beside = places.clone / "backups"
    return beside if os.access(beside, os.W_OK) else places.state_dir / "backups"


def read_machine_time_zone() -> str:
    """The IANA name of the machine's time zone, UTC if it has none."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if "/" in named and (Path("/usr/share/zoneinfo") / named).is_file():
        return named
    _, found, name = str(LOCALTIME.resolve()).partition("/zoneinfo/")
    return name if found else "UTC"


def read_installed_settings() -> Settings:
    """Reads the settings from the environment, as the service units set it, or from the file that `make up` wrote."""
    values = dict(os.environ)
    if "GROUNDCREW_DATABASE_URL" not in values:
        places = find_installation_paths()
        try:
            values = read_settings_file(places.settings_file)
        except PermissionError:
            exit_with_error(
                "{file} may not be read by this user. Run the console as root.", file=places.settings_file
            )
        if not values:
            exit_with_error("Nothing is installed for {clone}. Begin with: make up", clone=places.clone)
    try:
        return Settings.from_environment(values)
    except MissingSettings as error:
        exit_with_error("No usable value for: {names}", names=", ".join(error.data["names"]))
