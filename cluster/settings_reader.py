"""Reads the values of settings out of the environment, and collects the names of those that are missing or unusable."""

import re
from collections.abc import Collection, Mapping
from datetime import time
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cluster.domain.backups.schedule import parse_time_of_day
from cluster.domain.errors import GroundcrewError
from cluster.domain.executors import ExecutorKind
from cluster.domain.jobs.unix_ids import is_valid_id_base

PREFIX = "GROUNDCREW_"
PLACE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.@-]*:)?/[A-Za-z0-9_./-]*")
RECIPIENT = re.compile(r"age1[02-9ac-hj-np-z]{58}")
"""A public key of age, in the alphabet of Bech32."""
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[1-9][0-9]{0,4})?")
IpNetwork = IPv4Network | IPv6Network


class MissingSettings(GroundcrewError):
    """Names every setting that is missing or unusable, all at once."""

    def __init__(self, names: list[str]) -> None:
        super().__init__("settings.missing", names=names)


class SettingsReader:
    """Reads variables, all without the prefix; collects the names of what is missing or unusable."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.invalid_names: list[str] = []

    def text(self, name: str, default: str = "") -> str:
        return self.environment.get(PREFIX + name, default)

    def required(self, name: str) -> str:
        value = self.text(name)
        if not value:
            self.invalid_names.append(PREFIX + name)
        return value

    def required_by(self, name: str, executor: ExecutorKind) -> str:
        return (self.required if self.text("EXECUTOR") == executor else self.text)(name)

    def number(self, name: str, default: int) -> int:
        value = self.text(name, str(default))
        if value.isdigit():
            return int(value)
        self.invalid_names.append(PREFIX + name)
        return default

    def id_base(self, name: str, default: int) -> int:
        """The first of an installation's numbers of users or workspaces."""
        value = self.number(name, default)
        if is_valid_id_base(value):
            return value
        self.invalid_names.append(PREFIX + name)
        return default

    def bytes_or_none(self, name: str) -> int | None:
        """A number of bytes; None if it is empty."""
        return self.number(name, 0) if self.text(name) else None

    def choice(self, name: str, default: str, *others: str) -> str:
        value = self.text(name, default)
        if value in (default, *others):
            return value
        self.invalid_names.append(PREFIX + name)
        return default

    def export(self, name: str) -> str:
        """`server:/folder`, as NFS names it."""
        value = self.text(name)
        server, between, _ = value.partition(":/")
        if value and not (server and between):
            self.invalid_names.append(PREFIX + name)
        return value

    def folder(self, name: str) -> Path | None:
        value = self.text(name)
        return Path(value) if value else None

    def folder_required_by(self, name: str, executor: ExecutorKind) -> Path | None:
        value = self.required_by(name, executor)
        return Path(value) if value else None

    def folders(self, name: str, default: str) -> tuple[Path, ...]:
        """The paths, which colons separate."""
        return tuple(Path(value) for value in self.text(name, default).split(":") if value)

    def time_of_day(self, name: str) -> time | None:
        """`HH:MM`; None if it is empty."""
        value = self.text(name)
        try:
            return parse_time_of_day(value) if value else None
        except ValueError:
            self.invalid_names.append(PREFIX + name)
            return None

    def place(self, name: str) -> str:
        """`user@host:/folder` or `/folder`, as rsync takes it; nothing that it would read as a switch or a shell."""
        value = self.text(name)
        if value and not PLACE.fullmatch(value):
            self.invalid_names.append(PREFIX + name)
        return value

    def recipient(self, name: str) -> str:
        """A public key of age; an empty one stays empty."""
        value = self.text(name)
        if value and not RECIPIENT.fullmatch(value):
            self.invalid_names.append(PREFIX + name)
        return value

    def address(self, name: str, schemes: Collection[str]) -> str:
        """A URL of one of these kinds that names a host; an empty one stays empty."""
        value = self.text(name)
        try:
            parts = urlsplit(value)
            is_good = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_good = False
        if value and not is_good:
            self.invalid_names.append(PREFIX + name)
        return value

    def index(self, name: str) -> str:
        """The address of a package index, or `none`; an empty one stays empty."""
        return value if (value := self.text(name)) == "none" else self.address(name, ("http", "https"))

    def hosts(self, name: str) -> tuple[str, ...]:
        """Entries `host` or `host:port`, which commas separate."""
        values = self.words(name)
        if not all(HOST.fullmatch(value) for value in values):
            self.invalid_names.append(PREFIX + name)
        return tuple(value.lower() for value in values)

    def notebook_address(self, name: str) -> str:
        """`name`, `*.name` or `:port`; an empty one stays empty."""
        value = self.text(name).lower()
        if value.startswith(":"):
            is_good = value[1:].isdecimal() and 0 < int(value[1:]) < 65536
        else:
            host = value.removeprefix("*.")
            is_good = ":" not in host and HOST.fullmatch(host) is not None
        if value and not is_good:
            self.invalid_names.append(PREFIX + name)
        return value

    def networks(self, name: str, default: str) -> tuple[IpNetwork, ...]:
        """Networks such as `10.20.0.0/16`, which commas separate; the host's part of an address is ignored."""
        try:
            return tuple(ip_network(value, strict=False) for value in self.words(name, default))
        except ValueError:
            self.invalid_names.append(PREFIX + name)
            return ()

    def words(self, name: str, default: str = "") -> list[str]:
        """The values, which commas and blanks separate."""
        return self.text(name, default).replace(",", " ").split()

    def zone(self, name: str, default: str) -> str:
        value = self.text(name, default)
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError):
            self.invalid_names.append(PREFIX + name)
        return value
