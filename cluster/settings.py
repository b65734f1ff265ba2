"""Every setting of the installation, read once by the entry points from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cluster.domain.errors import GroundcrewError

VERSION = "0.1.0"
PREFIX = "GROUNDCREW_"


class MissingSettings(GroundcrewError):
    """Names every setting that is missing or unusable, all at once."""

    def __init__(self, names: list[str]) -> None:
        super().__init__("settings.missing", names=names)


@dataclass(frozen=True)
class AgentSettings:
    """What the agent of a node needs that has no database: where to report, and by which right."""

    api_url: str
    authority: Path | None
    """The certificate authority of the installation; None: the ones that the machine trusts."""
    token_file: Path
    state_dir: Path
    cpu_slots: int

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "AgentSettings | None":
        """None where the agent is to write to the database itself. Raises MissingSettings."""
        url = environment.get(PREFIX + "API_URL", "")
        if not url:
            return None
        slots = environment.get(PREFIX + "CPU_SLOTS", "2")
        needed = {PREFIX + "NODE_TOKEN_FILE", PREFIX + "STATE_DIR"}
        wrong = [name for name in sorted(needed) if not environment.get(name)]
        if wrong or not slots.isdigit():
            raise MissingSettings(wrong or [PREFIX + "CPU_SLOTS"])
        authority = environment.get(PREFIX + "API_AUTHORITY", "")
        return cls(
            api_url=url,
            authority=Path(authority) if authority else None,
            token_file=Path(environment[PREFIX + "NODE_TOKEN_FILE"]),
            state_dir=Path(environment[PREFIX + "STATE_DIR"]),
            cpu_slots=int(slots),
        )


@dataclass(frozen=True)
class Settings:
    """Sizes are bytes, times seconds. `state_dir` holds everything that `make reset` deletes."""

    state_dir: Path
    cache_dir: Path
    database_url: str
    redis_url: str
    secret_key: str
    executor: str = "process"
    docker_image: str = ""
    """What containers are made from; nothing here pulls it."""
    docker_socket: str = "/var/run/docker.sock"
    docker_gpus: str = "nvidia"
    docker_network: str = "none"
    host: str = "127.0.0.1"
    port: int = 8470
    public_url: str = "http://127.0.0.1:8470"
    time_zone: str = "UTC"
    uid_base: int = 100_000
    gid_base: int = 100_000
    password_policy: str = "asvs"
    unicode_file_names: bool = False
    upload_limit_bytes: int = 20 * 1024**3
    cpu_slots: int = 2
    node_grace_seconds: int = 300
    """Silent for so long a node is given up and its jobs start elsewhere."""
    dataset_roots: tuple[Path, ...] = (Path("/data"), Path("/mnt"), Path("/srv"))
    """Folders beneath which a path may be registered as a dataset."""
    is_behind_proxy: bool = False
    """Requests come through our own proxy alone, which says whose they are."""
    launcher: str = "detached"
    """How the process executor starts a shim: `detached`, or `systemd` for a transient unit of its own."""
    service_user: str = ""
    """Whom the services without root run as: owner of the storage, reader of what jobs write."""
    version: str = VERSION

    @property
    def storage_dir(self) -> Path:
        """Datasets, code, logs and checkpoints, by id."""
        return self.state_dir / "storage"

    @property
    def runtime_dir(self) -> Path:
        """What a job imports: installed copies of the shim, `groundcrew_job` and the built-in models."""
        return self.state_dir / "runtime"

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Raises MissingSettings with the whole list of what is missing or unusable."""
        wrong: list[str] = []

        def need(name: str) -> str:
            value = environment.get(PREFIX + name, "")
            if not value:
                wrong.append(PREFIX + name)
            return value

        def number(name: str, default: int) -> int:
            text = environment.get(PREFIX + name, str(default))
            if not text.isdigit():
                wrong.append(PREFIX + name)
                return default
            return int(text)

        def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
            value = environment.get(PREFIX + name, default)
            if value not in allowed:
                wrong.append(PREFIX + name)
            return value

        zone = environment.get(PREFIX + "TIME_ZONE", "UTC")
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError):
            wrong.append(PREFIX + "TIME_ZONE")
        image = environment.get(PREFIX + "DOCKER_IMAGE", "")
        if environment.get(PREFIX + "EXECUTOR") == "docker" and not image:
            wrong.append(PREFIX + "DOCKER_IMAGE")
        port = number("PORT", 8470)
        host = environment.get(PREFIX + "HOST", "127.0.0.1")
        settings = cls(
            state_dir=Path(need("STATE_DIR")),
            cache_dir=Path(need("CACHE_DIR")),
            database_url=need("DATABASE_URL"),
            redis_url=need("REDIS_URL"),
            secret_key=need("SECRET_KEY"),
            executor=choice("EXECUTOR", "process", ("process", "docker", "simulated")),
            docker_image=image,
            docker_socket=environment.get(PREFIX + "DOCKER_SOCKET", "/var/run/docker.sock"),
            docker_gpus=choice("DOCKER_GPUS", "nvidia", ("nvidia", "cdi")),
            docker_network=choice("DOCKER_NETWORK", "none", ("none", "own")),
            host=host,
            port=port,
            public_url=environment.get(PREFIX + "PUBLIC_URL", f"http://{host}:{port}"),
            time_zone=zone,
            uid_base=number("UID_BASE", 100_000),
            gid_base=number("GID_BASE", 100_000),
            password_policy=choice("PASSWORD_POLICY", "asvs", ("asvs", "classic")),
            unicode_file_names=choice("UNICODE_FILE_NAMES", "no", ("yes", "no")) == "yes",
            upload_limit_bytes=number("UPLOAD_LIMIT_BYTES", 20 * 1024**3),
            cpu_slots=number("CPU_SLOTS", 2),
            node_grace_seconds=number("NODE_GRACE_SECONDS", 300),
            dataset_roots=tuple(
                Path(root)
                for root in environment.get(PREFIX + "DATASET_ROOTS", "/data:/mnt:/srv").split(":")
                if root
            ),
            is_behind_proxy=choice("BEHIND_PROXY", "no", ("yes", "no")) == "yes",
            launcher=choice("LAUNCHER", "detached", ("detached", "systemd")),
            service_user=environment.get(PREFIX + "SERVICE_USER", ""),
        )
        if wrong:
            raise MissingSettings(wrong)
        return settings
