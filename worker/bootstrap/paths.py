"""The paths of one installation: its clone, its state directory and the cache directory that clones share.

Standard library only: the bootstrap reads it before any package is installed.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

CLONE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class InstallationPaths:
    """The folders of one installation made by ``make up``."""

    clone: Path
    state_dir: Path
    cache_dir: Path

    @property
    def settings_file(self) -> Path:
        """The settings that the running services read."""
        return self.state_dir / "groundcrew.env"

    @property
    def supervisor_file(self) -> Path:
        return self.state_dir / "supervisord.conf"

    @property
    def supervisor_socket(self) -> Path:
        return self.state_dir / "run" / "supervisor.sock"

    @property
    def redis_socket(self) -> Path:
        return self.state_dir / "run" / "redis.sock"

    @property
    def nginx_dir(self) -> Path:
        """The folder that nginx and its group may read: configuration, certificate, static files, the portal's
        sockets.
        """
        return self.state_dir / "nginx"

    @property
    def portal_socket(self) -> Path:
        return self.nginx_dir / "portal.sock"

    @property
    def stream_socket(self) -> Path:
        return self.nginx_dir / "stream.sock"

    @property
    def database_file(self) -> Path:
        return self.state_dir / "database" / "groundcrew.db"

    @property
    def tls_dir(self) -> Path:
        """The folder of the authority and the certificate of ``make up HOST=…``."""
        return self.state_dir / "tls"

    @property
    def log_dir(self) -> Path:
        return self.state_dir / "log"

    @property
    def environment_link(self) -> Path:
        """A link to the environment that the last ``make up`` used, so that ``make down`` finds it."""
        return self.state_dir / "environment"


def find_installation_paths(clone: Path = CLONE) -> InstallationPaths:
    """The folders of this clone's installation: the machine's folders for root, else the user's own."""
    short = hashlib.sha256(str(clone).encode()).hexdigest()[:12]
    if os.geteuid() == 0:
        state, cache = Path("/var/lib/groundcrew"), Path("/var/cache/groundcrew")
    else:
        home = Path.home()
        state = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "groundcrew"
        cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "groundcrew"
    named_state = os.environ.get("GROUNDCREW_STATE_DIR")
    named_cache = os.environ.get("GROUNDCREW_CACHE_DIR")
    return InstallationPaths(
        clone=clone,
        state_dir=Path(named_state) if named_state else state / short,
        cache_dir=Path(named_cache) if named_cache else cache,
    )
